"""A certificate of the running kernel's vDSO is checked, and made again from a copy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.image.processes import process
from tests.tables import faulty
from verify.batch import prove_files
from verify.cache import ProofCache
from verify.cli import run
from verify.image import extract_to, open_images
from verify.options import Options
from verify.report.display import Display
from verify.verdict import AS_RUNNING, Caveat, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_running_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code for which the image has an alternative, which the kernel has not applied."""
    faulty("x86_64").target(tmp_path)
    running = process(tmp_path, (tmp_path / "patchable.so").read_bytes())
    place, cache = tmp_path / "certificate", ProofCache(tmp_path / "cache")
    options = Options(("counter", "abi"), certificate=place)
    display = Display(quiet=True, silent=False, debug=False)
    (result,) = prove_files([running], None, options, display, cache).results
    assert result.verdict is Verdict.PROVED
    assert [one.name for one in result.variants] == [AS_RUNNING]

    extract_to(open_images(running), tmp_path / "copy")
    copy = str(tmp_path / "copy/vdso.so")
    assert run(["check", str(place), "--reproduce", copy]) == 0
    assert "(x86_64, as it runs)" in capsys.readouterr().out

    # To a file, the kernel has yet to apply its alternatives: that is another proof.
    again = Options(("counter", "abi"))
    assert prove_files([copy], None, again, display, cache).results[0].caveats == result.caveats
    (hit,) = prove_files([running], None, again, display, cache).results
    assert Caveat.READING_CACHED in hit.caveats
