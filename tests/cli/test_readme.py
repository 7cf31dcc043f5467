"""What README.md shows is what the commands print; `python -m scripts.samples` renews it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from verify.cli import run

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SAMPLES = re.findall(r"(?m)^    \$ vdso-verify (.*)\n((?:    .*\n|\n)+)", README)


def normalised(text: str) -> list[str]:
    """The lines without what differs from one run or machine to the next."""
    text = re.sub(r" +\d+\.\d\d s\b", " TIME", text)
    text = re.sub(r"qemu-(\w+) version [^;\n]*", r"qemu-\1 VERSION", text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize(("arguments", "shown"), SAMPLES)
def test_sample(
    arguments: str,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    assert run(arguments.split()) in (0, 1)
    printed = capsys.readouterr().out
    assert normalised(re.sub(r"(?m)^    ", "", shown)) == normalised(printed)


def test_there_are_samples_of_a_proof_a_refutation_and_a_residue() -> None:
    assert len(SAMPLES) == 3
    assert "REFUTED" in SAMPLES[1][1]
    assert "key-dependent" in SAMPLES[2][1]


def test_every_file_it_names_is_there() -> None:
    for name in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / name).exists(), name
