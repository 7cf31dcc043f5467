"""The command: what it prints, its JSON, its exit code and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.history.programs import BINARIES
from verify.cli import run

PROGRAM = str(BINARIES / "s390x/getrandom.so")


def test_table_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cost.json"
    assert run(["cost", "--json", str(file), PROGRAM]) == 0
    output = capsys.readouterr().out
    content = json.loads(file.read_text())
    (cost,) = content["costs"]
    assert content["failures"] == []
    assert cost["architecture"] == "s390x"
    assert (cost["page_bytes"], cost["data_page"]) == (0x1000, 0x2000)
    assert {len(numbers) for numbers in cost["by_pos"].values()} == {97}
    assert set(cost["by_pos"]["4"][:93]) == {67 + 5 * 4}
    assert cost["mean"]["8"] == round(sum(cost["by_pos"]["8"]) / 97, 2)
    assert cost["within"] == [{"of": "", "factors": [67]}, {"of": "len", "factors": [5]}]
    assert f"{cost['mean']['256']:.2f}" in output
    assert "len <= 96 - pos: 67 + 5 len" in output
    assert cost["image_sha256"] in output


@pytest.mark.usefixtures("without_qemu")
def test_without_qemu_nothing_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "--json", "-", PROGRAM]) == 3
    output, errors = capsys.readouterr()
    (failure,) = json.loads(output)["failures"]
    assert "sudo apt-get install qemu-user" in failure["reason"]
    assert errors.count("\n") == 1 and failure["reason"] in errors


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "/nowhere/x.so"]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.count("\n") == 1 and "/nowhere/x.so" in errors
