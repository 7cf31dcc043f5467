"""The command `report`; `register` adds it to the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from verify.cost.report import findings
from verify.errors import InputError
from verify.output import STANDARD_OUTPUT, write_text
from verify.resultjson import Outcome, from_json
from verify.verdict import Contract, Result


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
    costs: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            metavar="COST.json",
            help="What cost --json wrote: tell it among what was found of the same images; can be"
            " repeated.",
        ),
    ] = None,
) -> int:
    """Write a report from results, proving nothing again.

    Exit code: 0 it is written, whatever the verdicts are; 2 bad input or usage.
    """
    outcomes = [_read(file, from_json, "prove") for file in results]
    told = {
        image: lines
        for file in costs or ()
        for image, lines in _read(file, findings, "cost").items()
    }
    outcome = Outcome(
        tuple(_with_cost(result, told) for one in outcomes for result in one.results),
        tuple(failure for one in outcomes for failure in one.failures),
    )
    if format_ is Format.PDF:
        from verify.report.pdf import save

        save(outcome, output)
        return 0
    module = import_module(f"verify.report.{format_.value}")
    write_text(output, module.render(outcome))
    return 0


def _read[Content](file: str, parsed: Callable[[Any], Content], command: str) -> Content:
    """What a command wrote to a file as JSON; raises InputError."""
    try:
        return parsed(json.loads(Path(file).read_text("utf-8")))
    except OSError as error:
        raise InputError(file, (error.strerror or str(error)).lower()) from None
    except (ValueError, RecursionError) as error:
        reason = f"not a result of vdso-verify {command} --json ({error})"
        raise InputError(file, reason) from None


def _with_cost(result: Result, told: Mapping[str, tuple[str, ...]]) -> Result:
    """The result of a getrandom with the cost of its image, if that is known."""
    if result.contract is not Contract.GETRANDOM:
        return result
    lines = told.get(result.target.image_sha256, ())
    return replace(result, findings=(*result.findings, *lines))
