"""The committed binaries are what their sources build, bit for bit."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from binaries import build, patches
from binaries.products import products

if TYPE_CHECKING:
    from pathlib import Path


def test_rebuild_is_bit_for_bit_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    assert build.main(["--check"]) == 0, capfd.readouterr().err


def test_nothing_of_the_machine_is_in_a_file() -> None:
    for product in products(build.ROOT):
        data = (build.ROOT / product.path).read_bytes()
        assert not re.search(rb"/(home|root|tmp|usr|work)/|\.S\0|\.c\0", data), product.path


def test_every_binary_in_the_tree_is_in_the_manifest() -> None:
    manifest = json.loads((build.ROOT / build.MANIFEST).read_text())
    listed = {entry["path"] for entry in manifest["files"]}
    present = {
        path.relative_to(build.ROOT).as_posix()
        for pattern in ("binaries/**/*.so", "verify/qemu/runners/*")
        for path in build.ROOT.glob(pattern)
    }
    assert listed == present


def test_check_names_files_that_differ_or_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "ROOT", tmp_path)
    (tmp_path / "same").write_bytes(b"1")
    (tmp_path / "other").write_bytes(b"1")
    found = build.differences({"same": b"1", "other": b"2", "absent": b"3"})
    assert found == [
        "other: differs from what its sources build",
        "absent: missing; run `make binaries`",
    ]


@pytest.mark.parametrize("source", ["nothing of the kind", "old old"])
def test_a_fault_that_does_not_fit_its_program_is_an_error(source: str) -> None:
    fault = patches.Fault(
        name="name",
        architecture="loongarch64",
        base="looped",
        refuted_by=("output",),
        description="",
        edits=(patches.Edit("old", "new"),),
    )
    with pytest.raises(patches.PatchError, match=r"^fault name: 'old' occurs \d times in .*\.S$"):
        patches.apply(fault, source)
