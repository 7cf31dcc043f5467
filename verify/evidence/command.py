"""The commands `replay` and `explain`; `register` adds them to the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verify.errors import InputError, printable
from verify.options import PROPERTIES_OF
from verify.output import write_text
from verify.report.console import console_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.evidence.replay import Refuted, RefutedByCalls
    from verify.resultjson import Outcome
    from verify.target import Target

EXIT_REFUTED = 1
EXIT_UNKNOWN = 3

_RESULT = Annotated[
    str,
    typer.Argument(
        metavar="RESULT.json", show_default=False, help="What prove --json wrote, or -."
    ),
]
_PROPERTY = Annotated[
    str | None,
    typer.Option("--property", metavar="NAME", help="Only the counterexample of this property."),
]
_BINARY = Annotated[
    str | None,
    typer.Option(
        "--binary", metavar="FILE", help="The file that was proved, where it is elsewhere now."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("replay")(replay)
    app.command("explain")(explain)


def replay(
    result: _RESULT,
    *,
    property_id: _PROPERTY = None,
    binary: _BINARY = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Write a C program and a GDB script for each counterexample to this directory.",
        ),
    ] = None,
) -> int:
    """Execute the counterexamples of a result again.

    The real bytes are executed under QEMU.

    Exit code, the first that applies: 2 bad input or usage; 3 a counterexample does not show its
    fault or could not be executed; 1 each shows it.
    """
    from verify.evidence.replay import calls_in, refuted_in

    outcome = _read(result, property_id)
    by_calls = calls_in(outcome, property_id)
    if by_calls and output is not None:
        raise InputError(
            result, "calls of getrandom are not written as a program: leave out --output"
        )
    found = [] if by_calls else refuted_in(outcome, result, property_id)
    shown = [_replay(one, binary) for one in found]
    shown += [_replay_calls(one, binary) for one in by_calls]
    if output is not None:
        _write(found, binary, output)
    return EXIT_REFUTED if all(shown) else EXIT_UNKNOWN


def explain(
    result: _RESULT,
    *,
    property_id: _PROPERTY = None,
    binary: _BINARY = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.ipynb", help="Write the executed notebook."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write it as a page that needs no network and no script.",
        ),
    ] = None,
) -> int:
    """Explain a counterexample in an executed notebook.

    It is the first of the result, or that of --property. Needs what
    pip install vdso-verify[notebook] brings, and a checkout of the project.

    Exit code: 0 it is written; 2 bad input or usage.
    """
    if output is None and page is None:
        raise typer.BadParameter("nothing to write; give -o OUT.ipynb or --html FILE")
    from verify.evidence import explain as explaining
    from verify.evidence.replay import calls_in, refuted_in, target_of

    outcome = _read(result, property_id)
    if calls_in(outcome, property_id):
        raise InputError(
            result,
            "there is no notebook of calls of getrandom: the report tells them, and replay executes"
            " them again",
        )
    refuted = refuted_in(outcome, result, property_id)[0]

    target = target_of(refuted, binary)
    name = refuted.property.property
    try:
        notebook = explaining.read_notebook(explaining.template_of(name))
        parameters = {
            "RESULT": str(Path(result).resolve()),
            "PROPERTY": name,
            "BINARY": str(Path(target.source).resolve()),
            "NUMBER": 0,
        }
        explaining.execute(explaining.with_parameters(notebook, parameters), Path.cwd())
    except ImportError as error:
        reason = f"{error.name} is not installed; pip install vdso-verify[notebook]"
        raise InputError("explain", reason) from None
    title = f"{target.function.name}: {name} is refuted"
    if output is not None:
        write_text(str(output), explaining.notebook_text(notebook))
    if page is not None:
        write_text(str(page), explaining.page_of(notebook, title))
    return 0


def _read(file: str, property_id: str | None) -> Outcome:
    """A result; raises BadParameter where there is no such property of any contract."""
    known = tuple(dict.fromkeys(name for names in PROPERTIES_OF.values() for name in names))
    if property_id is not None and property_id not in known:
        raise typer.BadParameter(f"no property {property_id!r}; properties are {', '.join(known)}")
    from verify.evidence.replay import read_outcome

    return read_outcome(file)


def _replay_calls(refuted: RefutedByCalls, binary: str | None) -> bool:
    """Execute a history or a pair of calls, and say what it shows; whether it is the fault."""
    from verify.evidence.replay import calls_again, target_of
    from verify.qemu import available

    target = target_of(refuted, binary)
    what = _executed(target, refuted, "sequence of calls", lambda: calls_again(target, refuted))
    if what is None:
        return False
    _say(f"{_title(target, refuted)}: {what}")
    for line in refuted.shown.account:
        _say(f"  {printable(line)}")
    same = "just so" if what == refuted.shown.what else "the same fault, in another way"
    _say(f"  reproduced {same}, by {available(target.architecture.name)}\n")
    return True


def _replay(refuted: Refuted, binary: str | None) -> bool:
    """Execute one counterexample, and say what it shows; whether it is the fault."""
    from verify.evidence.replay import again, target_of
    from verify.qemu import available
    from verify.report.counterexample import counterexample_text

    target = target_of(refuted, binary)
    found = refuted.counterexample
    breach = _executed(target, refuted, "counterexample", lambda: again(target, found))
    if breach is None:
        return False
    _say(f"{_title(target, refuted)}: {breach.what}")
    _say(counterexample_text(found, target.architecture.name))
    same = (breach.expected, breach.actual) == (found.expected, found.actual)
    _say(f"  now          {breach.expected} expected, {breach.actual} seen")
    _say(
        f"  reproduced   {'just so' if same else 'the same fault, with other values'}, by"
        f" {available(target.architecture.name)}\n"
    )
    return True


def _executed[T](
    target: Target, refuted: Refuted | RefutedByCalls, what: str, execute: Callable[[], T | None]
) -> T | None:
    """What an execution shows; None where that is not the fault or there was none, which is said.
    Raises InputError where it is not one of that target."""
    from verify.qemu import QemuError

    try:
        shown = execute()
    except QemuError as error:
        _say(f"{_title(target, refuted)}: not executed: {error}")
        return None
    except (ValueError, LookupError) as error:
        raise InputError(target.source, f"the {what} is not one of it: {error}") from None
    if shown is None:
        _say(
            f"{_title(target, refuted)}: does not reproduce: a fault of the harness, please report"
            " it"
        )
    return shown


def _title(target: Target, refuted: Refuted | RefutedByCalls) -> str:
    return f"{target.source}: {refuted.property.property}"


def _say(text: str) -> None:
    console_for(sys.stdout).print(text, soft_wrap=True)


def _write(found: list[Refuted], binary: str | None, directory: Path) -> None:
    """Write the C program and the GDB script of each counterexample."""
    from verify.evidence.gdb import gdb_script
    from verify.evidence.replay import target_of
    from verify.evidence.selftest import selftest

    console = console_for(sys.stdout)
    several = len({id(one.result) for one in found}) > 1
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for number, one in enumerate(found, 1):
            name = f"{number}-{one.property.property}" if several else one.property.property
            target = target_of(one, binary)
            program = directory / f"{name}.c"
            program.write_text(selftest(target, one.counterexample))
            script = directory / f"{name}.gdb"
            script.write_text(gdb_script(target, one.counterexample, name))
            console.print(f"{program}\n{script}", soft_wrap=True)
    except OSError as error:
        raise InputError(str(directory), error.strerror or str(error)) from None


__all__ = ["explain", "register", "replay"]
