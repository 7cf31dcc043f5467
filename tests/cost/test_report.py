"""The cost of a getrandom in the reports of what was proved of it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.report import samples
from verify.arch import ARCHITECTURES
from verify.cli import run
from verify.cost.formula import formulas
from verify.cost.model import LENGTHS, POSITIONS, Cost
from verify.cost.report import FORMAT, findings, to_json
from verify.resultjson import Outcome
from verify.resultjson import to_json as result_to_json

IMAGE = samples.GETRANDOM.target.image_sha256
CALLS = {(length, pos): 40 + 6 * length for length in LENGTHS for pos in POSITIONS}
COST = Cost(
    source="linux.deb",
    path=("linux.deb",),
    image_sha256=IMAGE,
    architecture=ARCHITECTURES[0],
    function="__kernel_getrandom",
    executor="qemu 7.2.22",
    page_bytes=0x1000,
    data_page=0x2000,
    patched=("capability 26",),
    by_call=CALLS,
    formulas=formulas(CALLS),
    aligned_only=True,
)


def test_what_is_told_is_what_was_counted() -> None:
    assert COST.mean(16) == Fraction(136)
    (lines,) = findings(json.loads(to_json([COST], []))).values()
    assert lines == (
        "cost: instructions of a call, mean over pos 0..96: 64.00 for 4 bytes, 88.00 for 8 bytes,"
        " 136.00 for 16 bytes, 232.00 for 32 bytes, 1576.00 for 256 bytes",
        f"cost: len <= 96 - pos: {COST.formulas.within}",
        f"cost: len > 96 - pos: {COST.formulas.beyond}",
        "cost: as the kernel patches it: capability 26",
        "cost: for a buffer at a multiple of 64; at an odd address the numbers are others",
        f"cost: {len(CALLS)} calls executed by qemu 7.2.22",
    )


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Results of a getrandom and of the ChaCha20 of the same image, and its cost."""
    results, cost = tmp_path / "results.json", tmp_path / "cost.json"
    outcome = Outcome((samples.GETRANDOM, samples.PROVED))
    results.write_text(json.dumps(result_to_json(outcome)))
    cost.write_text(to_json([COST], []))
    return str(results), str(cost)


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_reports_have_it_once(
    files: tuple[str, str], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results, cost = files
    assert run(["report", results, "--format", kind, "--cost", cost]) == 0
    assert capsys.readouterr().out.count("136.00 for 16 bytes") == 1


def test_other_images_have_it_not(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, cost = files
    other = tmp_path / "other.json"
    other.write_text(json.dumps(json.loads(Path(cost).read_text()) | {"costs": []}))
    assert run(["report", results, "--format", "html", "--cost", str(other)]) == 0
    assert "for 16 bytes" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", f'{{"format": {FORMAT}, "costs": [1]}}', '{"format": 0}']
)
def test_what_is_no_cost_is_one_line(
    files: tuple[str, str], tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    assert run(["report", files[0], "--format", "html", "--cost", str(bad)]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.count("\n") == 1 and f"{bad}: not a result of vdso-verify cost" in errors
