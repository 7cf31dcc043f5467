"""The command `report`; `register` adds it to the command line."""

from __future__ import annotations

import json
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from verify.errors import InputError
from verify.output import STANDARD_OUTPUT, write_text
from verify.resultjson import Outcome, from_json


class Format(Enum):
    """The module of `verify.report` that renders it."""

    HTML = "html"
    PDF = "pdf"
    MARKDOWN = "markdown"
    KTAP = "ktap"
    JUNIT = "junit"
    SARIF = "sarif"
    ATTESTATION = "attestation"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("report")(report_command)


def report_command(
    results: Annotated[
        list[str],
        typer.Argument(metavar="RESULT.json", show_default=False, help="What prove --json wrote."),
    ],
    *,
    format_: Annotated[
        Format,
        typer.Option(
            "--format",
            show_default=False,
            help="What to write: html or pdf for a reviewer; markdown for a mail; ktap for kernel"
            " testers; junit or sarif for continuous integration; attestation for in-toto.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="The file; - is standard output."),
    ] = STANDARD_OUTPUT,
) -> int:
    """Write a report from results, proving nothing again.

    Exit code: 0 it is written, whatever the verdicts are; 2 bad input or usage.
    """
    outcomes = [_read(file) for file in results]
    outcome = Outcome(
        tuple(result for one in outcomes for result in one.results),
        tuple(failure for one in outcomes for failure in one.failures),
    )
    if format_ is Format.PDF:
        from verify.report.pdf import save

        save(outcome, output)
        return 0
    module = import_module(f"verify.report.{format_.value}")
    write_text(output, module.render(outcome))
    return 0


def _read(file: str) -> Outcome:
    """The results in a file; raises InputError."""
    try:
        return from_json(json.loads(Path(file).read_text("utf-8")))
    except OSError as error:
        raise InputError(file, (error.strerror or str(error)).lower()) from None
    except (ValueError, RecursionError) as error:
        raise InputError(file, f"not a result of vdso-verify prove --json ({error})") from None
