"""`explain` writes a notebook that has run, and a page that stands by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.evidence.programs import result_of
from tests.proving import BINARIES
from verify.cli import run
from verify.evidence import explain
from verify.resultjson import Outcome, dumps, to_json

FAULT = "powerpc64le/key-word-on-stack"
HEAVY = ("matplotlib", "nbclient", "nbconvert", "nbformat", "ipykernel", "numpy")


@pytest.fixture
def result(tmp_path: Path) -> str:
    """A result with two refuted properties."""
    path = tmp_path / "result.json"
    path.write_text(dumps(to_json(Outcome((result_of(FAULT),)))))
    return str(path)


def test_residue_on_the_stack(
    result: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook, page = tmp_path / "out.ipynb", tmp_path / "out.html"
    arguments = ["explain", result, "--property", "secrecy"]
    assert run([*arguments, "-o", str(notebook), "--html", str(page)]) == 0
    assert capsys.readouterr() == ("", "")
    cells = json.loads(notebook.read_text())["cells"]
    (parameters,) = (c for c in cells if "parameters" in c["metadata"].get("tags", ()))
    assert "secrecy" in "".join(parameters["source"])
    assert all(cell["outputs"] for cell in cells[4:] if cell["cell_type"] == "code")
    text = page.read_text()
    for part in ("sp-152", "key word 2", "64712a48", "agrees", "<svg"):
        assert part in text
    assert ">NO<" not in text
    assert "ERROR" not in text, "what a library logs is no part of the page"
    assert "<script" not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to write; give -o OUT.ipynb or --html FILE"),
        (["--html", "/nowhere/out.html", "--property", "timing"], "no counterexample of timing"),
        (["--html", "out.html", "--binary", "gone.so"], "gone.so: no such file"),
        (
            ["--html", "out.html", "--binary", str(BINARIES / "powerpc64le" / "looped.so")],
            "not the file of the result",
        ),
    ],
)
def test_wrong_use_is_one_line(
    arguments: list[str], said: str, result: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", result, *arguments]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert said in errors
    assert len(errors.splitlines()) == 1


def test_without_the_templates(
    result: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(explain, "NOTEBOOKS", tmp_path)
    assert run(["explain", result, "--html", str(tmp_path / "out.html")]) == 2
    assert "the template is missing; run from a checkout of the project" in capsys.readouterr().err


def test_proving_needs_none_of_it() -> None:
    script = (
        "import sys\n"
        "from verify.cli import run\n"
        f"run(['prove', '-q', {str(BINARIES / 'faults' / f'{FAULT}.so')!r}])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        (sys.executable, "-c", script),
        cwd=BINARIES.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
