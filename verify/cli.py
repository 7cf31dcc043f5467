"""The command line: parses, calls, prints, and chooses the exit code.

What is slow to import is imported by the command that needs it.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from verify import __version__
from verify.arch import DEBIAN
from verify.batch import internal_error, prove_files, targets_in
from verify.cacheoption import Cache, NoCache, opened
from verify.contractoption import (
    ChosenContract,
    DataPage,
    Linux,
    PageSize,
    Properties,
    chosen_properties,
    require_possible,
)
from verify.cost.command import register as register_cost
from verify.errors import InputError
from verify.evidence.check_command import register as register_check
from verify.evidence.command import register as register_replay
from verify.fileoption import Directory, File, Files, Function, IsRunning, Json, chosen_inputs
from verify.image import extract_to, open_images
from verify.image.debian import DEFAULT_SUITE, UnreachableError, fetch
from verify.mutate.command import register as register_mutate
from verify.options import Options
from verify.output import STANDARD_OUTPUT, require_empty, write_text
from verify.report.command import register as register_report
from verify.report.console import console_for, prepare_streams
from verify.report.display import Display, complain
from verify.report.download import download_bar
from verify.resultjson import Failed, Failure, Outcome, dumps, inspections_to_json, to_json
from verify.validate.command import register as register_validate_lifter
from verify.verdict import Contract

PROGRAM = "vdso-verify"
EXIT_INPUT = 2
EXIT_UNKNOWN = 3
EXIT_INTERRUPTED = 130


@dataclass
class Settings:
    """The options in front of the command."""

    debug: bool = False


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
fetch_app = typer.Typer(help="Download kernels of a distribution.", rich_markup_mode=None)
app.add_typer(fetch_app, name="fetch")


def _version(wanted: bool) -> None:
    if wanted:
        console_for(sys.stdout).print(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    *,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an internal error.")
    ] = False,
    _show_version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Prove that the ChaCha20 in a Linux vDSO is ChaCha20, and list what it writes to the stack.

    Each command's --help lists its exit codes. Besides, every command ends with 3 for an internal
    error and with 130 for Ctrl-C.
    """
    context.obj.debug = debug


@app.command("prove")
def prove_command(  # noqa: PLR0913  # one for each option
    context: typer.Context,
    files: Files = None,
    *,
    running: IsRunning = False,
    function: Function = None,
    json: Json = None,
    contract: ChosenContract = Contract.CHACHA20,
    properties: Properties = None,
    page_size: PageSize = None,
    data_page: DataPage = None,
    linux: Linux = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            metavar="SECONDS",
            help="Bound the time of one obligation; what is not decided in it is UNKNOWN.",
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Obligations decided at once; of getrandom, files and groups of paths.",
        ),
    ] = Options.jobs,
    budget: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="UNITS",
            help="Bound the work on one obligation, in Z3's resource units, which are the same"
            " on every machine.",
        ),
    ] = Options.budget,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay/--no-replay", help="Execute counterexamples under QEMU, where it is there."
        ),
    ] = Options.replay,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write a certificate of what is proved, which `check` checks, to DIR, which is"
            " made.",
        ),
    ] = None,
    both_lifters: Annotated[
        bool,
        typer.Option(
            "--both-lifters",
            help="Prove by each of two independent lifters, where the architecture has two: what"
            " they do not agree on is UNKNOWN.",
        ),
    ] = Options.both_lifters,
    cache: Cache = None,
    no_cache: NoCache = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print one line per function.")
    ] = False,
) -> int:
    """Prove or refute each property of a function in a file.

    The function is ChaCha20, or with --contract getrandom the exported one that calls it. Several
    files are taken one after the other, and every function in them; one that cannot be used does
    not keep the others from being proved.

    Exit code, the first that applies: 1 something is REFUTED; 2 bad input or usage; 3 something
    is UNKNOWN or VACUOUS; 0 everything is PROVED.
    """
    chosen = chosen_properties(contract, properties)
    require_possible(
        contract,
        certificate=certificate,
        cached=cache is not None and not no_cache,
        page_size=page_size,
        data_page=data_page,
        linux=linux,
    )
    if certificate is not None and both_lifters:
        raise typer.BadParameter("a certificate is of one lifter: leave out --both-lifters")
    if certificate is not None:
        require_empty(certificate)
    kept = opened(cache, no_cache=no_cache, both_lifters=both_lifters)
    options = Options(
        properties=chosen,
        budget=budget,
        timeout=timeout,
        jobs=jobs,
        replay=replay,
        certificate=certificate,
        both_lifters=both_lifters,
        contract=contract,
        page_bytes=page_size,
        data_page=data_page,
        linux=linux,
    )
    debug = context.obj.debug
    display = Display(quiet=quiet, silent=json == STANDARD_OUTPUT, debug=debug)
    outcome = prove_files(chosen_inputs(files, running), function, options, display, kept)
    display.ended(outcome)
    return _write_outcome(json, outcome)


@app.command()
def inspect(
    files: Files = None,
    *,
    running: IsRunning = False,
    function: Function = None,
    json: Json = None,
) -> int:
    """Show the function in a file, its loops and its code.

    Exit code: 0 all files were shown; 2 bad input or usage.
    """
    inspections, failures = [], []
    inputs = chosen_inputs(files, running)
    for target in (target for file in inputs for target in targets_in(file, function)):
        try:
            if isinstance(target, InputError):
                raise target
            from verify.inspection import inspect as inspect_target

            inspections.append(inspect_target(target))
        except InputError as error:
            failures.append(Failure(Failed.INPUT, error.source, error.reason))
            complain(failures[-1])
    if json is not None:
        write_text(json, dumps(inspections_to_json(inspections, failures)))
    if json != STANDARD_OUTPUT:
        from verify.report.inspection import print_inspection

        console = console_for(sys.stdout)
        for number, inspection in enumerate(inspections):
            if number:
                console.print()
            print_inspection(console, inspection)
    return EXIT_INPUT if failures else 0


@app.command()
def extract(file: File = None, *, running: IsRunning = False, output: Directory) -> int:
    """Write the vDSOs in a file to a directory.

    A manifest beside them, manifest.json, has their hashes and says where each was found.

    Exit code: 0 they are written; 2 bad input or usage.
    """
    (chosen,) = chosen_inputs([file] if file is not None else [], running)
    images = open_images(chosen)
    manifest = extract_to(images, output)
    console = console_for(sys.stdout)
    for entry in manifest["images"]:
        path = output / entry["file"]
        about = f"{entry['machine']}, {entry['bits']}-bit, {entry['byte_order']}-endian"
        console.print(f"{path}: {about}, {entry['size']} bytes", soft_wrap=True)
    return 0


@fetch_app.command("debian")
def fetch_debian(
    *,
    arch: Annotated[
        list[str] | None,
        typer.Option(
            "--arch",
            metavar="ARCH",
            help="Debian's name of an architecture; can be repeated. Default:"
            f" {', '.join(DEBIAN)}.",
        ),
    ] = None,
    suite: Annotated[str, typer.Option(metavar="SUITE", help="Debian's suite.")] = DEFAULT_SUITE,
    output: Directory,
) -> int:
    """Download Debian's current kernels with apt.

    Prints where the packages are. Needs apt; the mirror is that of the system's apt configuration.

    Exit code: 0 they are there; 2 bad input or usage; 3 the mirror cannot be reached.
    """
    architectures = arch or list(DEBIAN)
    try:
        with download_bar(sys.stderr) as progress:
            fetched = fetch(architectures, suite, output, progress)
    except UnreachableError as error:
        complain(Failure(Failed.INPUT, error.source, error.reason))
        return EXIT_UNKNOWN
    console = console_for(sys.stdout)
    for package in fetched:
        console.print(str(output / package.file), soft_wrap=True)
    return 0


@fetch_app.callback()
def fetch_root() -> None:
    """Make `debian` the name of a command, not only one among none."""


register_validate_lifter(app)
register_check(app)
register_report(app)
register_replay(app)
register_mutate(app)
register_cost(app)


def _write_outcome(json: str | None, outcome: Outcome) -> int:
    """Write the JSON that was asked for; the exit code, also where it cannot be written."""
    if json is not None:
        try:
            write_text(json, dumps(to_json(outcome)))
        except InputError as error:
            failure = Failure(Failed.INPUT, error.source, error.reason)
            complain(failure)
            outcome = Outcome(outcome.results, (*outcome.failures, failure))
    return outcome.exit_code


def _failed(arguments: Sequence[str], failure: Failure, settings: Settings) -> int:
    """Report what ended the command before it had anything to say."""
    complain(failure, debug=settings.debug)
    return _write_outcome(_json_file(arguments), Outcome(failures=(failure,)))


def _json_file(arguments: Sequence[str]) -> str | None:
    """The file that `prove --json` names, in a command line that may be wrong."""
    if "prove" in arguments:
        for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
            if argument == "--json":
                return following or None
            if argument.startswith("--json="):
                return argument.removeprefix("--json=") or None
    return None


def run(arguments: Sequence[str]) -> int:
    """Run a command line without the program's name; the exit code. Prints, and raises nothing."""
    settings = Settings()
    command = typer.main.get_command(app)
    try:
        code = command.main(list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=settings)
        return int(code or 0)
    except TyperException as error:
        reason = " ".join(error.format_message().split()).rstrip(".")
        context = getattr(error, "ctx", None)
        path = context.command_path if context else PROGRAM
        usage = Failure(Failed.INPUT, "", f"{reason}; see {path} --help")
        return _failed(arguments, usage, settings)
    except InputError as error:
        failure = Failure(Failed.INPUT, error.source, error.reason)
        return _failed(arguments, failure, settings)
    except KeyboardInterrupt:
        return _failed(arguments, Failure(Failed.INTERRUPTED, "", "interrupted"), settings)
    except BrokenPipeError:
        return 0
    except Exception as error:  # noqa: BLE001  # no traceback unless asked for
        failure = Failure(Failed.INTERNAL, "", internal_error(error))
        return _failed(arguments, failure, settings)


def main() -> None:
    """The console command: never returns.

    It leaves without the interpreter's tear-down: that would walk through all that angr has
    loaded, a quarter of the whole time, and pypcode would call its own objects leaked.
    """
    prepare_streams()
    # Terms and states live as long as the proof, so that looking for garbage often is in vain.
    gc.set_threshold(50_000, 20, 100)
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)
