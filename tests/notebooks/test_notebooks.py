"""Every notebook runs to its end, and is kept without what it printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verify.evidence.explain import NOTEBOOKS, execute, page_of, read_notebook, template_of
from verify.options import PROPERTIES

NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
SHOWN = {
    "counterexample": ("REFUTED", "round 1, quarter round 1 of block 0", "≠", "<svg"),
    "residue": ("a6 at the return", "1001011" + 25 * ".", "agrees", "<svg"),
    "side-by-side": ("LoongArch 64-bit", "PowerPC 64-bit little-endian", "no red zone", "<svg"),
    "tour": ("976 of 976 operations", "PROVED", "REFUTED", "(set-logic QF_BV)", "<svg"),
}


def test_there_are_four() -> None:
    assert set(NAMES) == set(SHOWN)
    assert {template_of(name).stem for name in PROPERTIES} == {"counterexample", "residue"}


@pytest.mark.parametrize("name", NAMES)
def test_notebook(name: str) -> None:
    notebook = execute(read_notebook(NOTEBOOKS / f"{name}.ipynb"), NOTEBOOKS.parent)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert {output.output_type for output in outputs} == {"execute_result"}
    page = page_of(notebook, name)
    for part in SHOWN[name]:
        assert part in page
    assert ">NO<" not in page
    assert "<script" not in page
    assert " src=" not in page
    assert "@import" not in page


@pytest.mark.parametrize("name", NAMES)
def test_notebook_is_kept_without_outputs(name: str) -> None:
    content: Any = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text())
    for cell in content["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_a_cell_that_fails_is_an_error(tmp_path: Path) -> None:
    import nbformat

    make: Any = nbformat.v4
    notebook = make.new_notebook(cells=[make.new_code_cell("1 / 0")])
    with pytest.raises(RuntimeError, match="a cell failed: ZeroDivisionError: division by zero"):
        execute(notebook, tmp_path)
