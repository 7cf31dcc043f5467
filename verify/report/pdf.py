"""The page for a reviewer as PDF."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from verify.errors import InputError
from verify.output import STANDARD_OUTPUT
from verify.report.html import render
from verify.resultjson import Outcome


def save(outcome: Outcome, file: str) -> None:
    """Write the PDF to a file; raises InputError."""
    if file == STANDARD_OUTPUT:
        raise InputError("--format pdf", "is not for the terminal; name a file with --output")
    if find_spec("weasyprint") is None:
        raise InputError("weasyprint", "is not installed; --format pdf needs it")
    try:
        from weasyprint import HTML
    except OSError as error:
        reason = str(error).splitlines()[0]
        raise InputError("weasyprint", f"lacks a library of the system ({reason})") from None
    try:
        Path(file).write_bytes(HTML(string=render(outcome)).write_pdf())
    except OSError as error:
        raise InputError(file, (error.strerror or str(error)).lower()) from None
