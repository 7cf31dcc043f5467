"""Make a notebook about a counterexample from a template, execute it, and show it as a page."""

from __future__ import annotations

import html
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from verify.errors import InputError
from verify.evidence.page import STYLE

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
"""The templates; they are not part of an installed package."""
_RESIDUE = "secrecy"
_SECONDS = 300


def template_of(property_id: str) -> Path:
    """The template for a property."""
    return NOTEBOOKS / ("residue.ipynb" if property_id == _RESIDUE else "counterexample.ipynb")


def read_notebook(path: Path) -> Any:
    """A notebook; raises InputError where it is missing."""
    import nbformat

    try:
        read: Any = nbformat.read
        return read(path, as_version=4)
    except FileNotFoundError:
        reason = "the template is missing; run from a checkout of the project"
        raise InputError(str(path), reason) from None


def with_parameters(notebook: Any, parameters: Mapping[str, object]) -> Any:
    """The notebook with the cell tagged `parameters` replaced by these assignments."""
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", ()):
            cell.source = "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
            return notebook
    raise AssertionError("the template has no cell for parameters")


def execute(notebook: Any, directory: Path) -> Any:
    """Execute the notebook in that directory; raises RuntimeError where a cell fails."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from traitlets.config import Config

    config: Any = Config()
    config.KernelManager.transport = "ipc"
    with _own_directories() as scratch:
        # Sockets in a directory of our own: nobody else on the machine can talk to the kernel.
        config.KernelManager.ip = str(scratch / "kernel")
        client = NotebookClient(
            notebook,
            timeout=_SECONDS,
            kernel_name="python3",
            config=config,
            resources={"metadata": {"path": str(directory)}},
        )
        try:
            client.execute()
        except CellExecutionError as error:
            raise RuntimeError(f"a cell failed: {error.ename}: {error.evalue}") from None
    for cell in notebook.cells:
        # When a cell ran is no news, and would make each notebook another one.
        cell.metadata.pop("execution", None)
    return notebook


@contextmanager
def _own_directories() -> Iterator[Path]:
    """Let the kernel import the project, and keep its files in a directory for it alone."""
    with tempfile.TemporaryDirectory() as scratch:
        before = dict(os.environ)
        path = os.pathsep.join(filter(None, (str(NOTEBOOKS.parent), before.get("PYTHONPATH", ""))))
        os.environ.update(
            IPYTHONDIR=scratch,
            JUPYTER_RUNTIME_DIR=scratch,
            PYTHONPATH=path,
            PYDEVD_DISABLE_FILE_VALIDATION="1",
        )
        try:
            yield Path(scratch)
        finally:
            os.environ.clear()
            os.environ.update(before)


def notebook_text(notebook: Any) -> str:
    """The notebook as the text of its file."""
    import nbformat

    writes: Any = nbformat.writes
    return str(writes(notebook)) + "\n"


def page_of(notebook: Any, title: str) -> str:
    """The executed notebook as a page that needs no network and no script."""
    import nbconvert

    exporter: Any = cast(Any, nbconvert).HTMLExporter(template_name="basic")
    body, _ = exporter.from_notebook_node(notebook)
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n"
        "</body>\n</html>\n"
    )
