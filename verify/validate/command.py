"""The command `validate-lifter`; `register` adds it to the command line."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verify.arch import ARCHITECTURES
from verify.batch import targets_in
from verify.errors import InputError
from verify.fileoption import Json
from verify.output import STANDARD_OUTPUT, write_text
from verify.report.console import console_for
from verify.validate.model import TRIALS, exit_code
from verify.validate.record import LEAST_STATES, load, save
from verify.verdict import Contract

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.target import Target
    from verify.validate.encodings import Form

_BINARIES = Path(__file__).resolve().parents[2] / "binaries"
_NAMES = tuple(architecture.name for architecture in ARCHITECTURES)


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("validate-lifter")(validate_lifter)


def validate_lifter(  # noqa: PLR0913  # one for each option
    *,
    binary: Annotated[
        list[str] | None,
        typer.Option(
            "--binary",
            metavar="FILE",
            help="A file with the function whose instructions are compared; can be repeated."
            " Default: the binaries that come with the project.",
        ),
    ] = None,
    contract: Annotated[
        list[Contract] | None,
        typer.Option(
            "--contract",
            help="Of which functions: of ChaCha20, or of the exported getrandom around it; can be"
            " repeated. Default: chacha20.",
        ),
    ] = None,
    arch: Annotated[
        list[str] | None,
        typer.Option(
            "--arch",
            metavar="ARCH",
            help=f"Only this architecture, of {', '.join(_NAMES)}; can be repeated.",
        ),
    ] = None,
    states: Annotated[
        int, typer.Option(min=16, metavar="N", help="States for each instruction.")
    ] = LEAST_STATES,
    trials: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Random calls of each whole ChaCha20 to compare, besides every split of 128 blocks"
            f" into two; 0 for none. Default: {TRIALS} with --binary, else 0.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Choose other states.")] = 0,
    json: Json = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Compare the recorded forms, too, and write the record that prove reads.",
        ),
    ] = False,
    both_lifters: Annotated[
        bool,
        typer.Option(
            "--both-lifters",
            help="Compare the instructions also as the second lifter reads them, where there is"
            " one; the record is of the first.",
        ),
    ] = False,
) -> int:
    """Compare what a proof reads in the code with QEMU.

    Each instruction form of the functions is executed on random and corner states; with --binary or
    --trials whole calls are, too.

    Exit code, the first that applies: 1 something differs; 2 bad input or usage; 3 something could
    not be compared, say because QEMU is missing; 0 all was compared and is the same.
    """
    unknown = [name for name in arch or () if name not in _NAMES]
    if unknown:
        raise typer.BadParameter(
            f"no architecture {unknown[0]!r}; architectures are {', '.join(_NAMES)}"
        )
    targets = list(_targets(binary or _own_binaries(), contract or [Contract.CHACHA20]))
    found = {target.architecture.name for target in targets}
    wanted = [name for name in _NAMES if name in (arch or found) and name in found]
    if not wanted:
        raise InputError(", ".join(arch or ()), "no function of this architecture in the files")
    from verify.lift.angr_import import import_angr

    import_angr()
    from verify.lift.machine import Unsupported
    from verify.validate.campaign import validate_all
    from verify.validate.report import print_validation, print_wholes, to_json
    from verify.validate.whole import compare_all

    recorded = load() if record else {}
    validations = []
    for architecture in (known for known in ARCHITECTURES if known.name in wanted):
        chosen = [target for target in targets if target.architecture is architecture]
        forms: tuple[Form, ...] = ()
        if architecture.name in recorded:
            forms = tuple(recorded[architecture.name].forms)
        other = architecture.read_by_other() if both_lifters else None
        for read in (architecture, other) if other is not None else (architecture,):
            mine = [replace(target, architecture=read) for target in chosen]
            try:
                validation = validate_all(read, _as_run(mine), states, seed, forms=forms)
            except Unsupported as error:
                raise InputError(chosen[0].source, str(error)) from None
            validations.append(validation)
            if json != STANDARD_OUTPUT:
                print_validation(console_for(sys.stdout), validation)
    if trials is None:
        trials = TRIALS if binary else 0
    chosen = [
        target for target in targets if target.architecture.name in wanted and target.callee is None
    ]
    wholes = compare_all(chosen, trials, seed) if trials else ()
    if json != STANDARD_OUTPUT:
        print_wholes(console_for(sys.stdout), wholes)
    if record:
        save(validation for validation in validations if not validation.reason)
    if json is not None:
        write_text(json, to_json(validations, wholes))
    return exit_code(validations, wholes)


def _as_run(targets: Iterable[Target]) -> Iterator[Target]:
    """Each target as in the file and as the kernel patches it, which may bring other forms."""
    from verify.variants import variants_of

    for target in targets:
        if target.unusable:
            yield target
        else:
            yield from map(target.patched, variants_of(target))


def _own_binaries() -> list[str]:
    files = sorted(str(path) for path in _BINARIES.glob("*/*.so") if path.parent.name in _NAMES)
    if not files:
        raise InputError(
            str(_BINARIES), "the project's own binaries are not here; name a file with --binary"
        )
    return files


def _targets(files: list[str], contracts: list[Contract]) -> Iterator[Target]:
    """The functions in the files with these contracts, of which a file need only have one; raises
    InputError for the first that has none."""
    for file in files:
        found = [one for contract in contracts for one in _functions(file, contract)]
        targets = [one for one in found if not isinstance(one, InputError)]
        if not targets or (len(contracts) == 1 and len(targets) < len(found)):
            raise next(one for one in found if isinstance(one, InputError))
        yield from targets


def _functions(file: str, contract: Contract) -> Iterator[Target | InputError]:
    """The function with a contract in each image of a file, or why it cannot be compared."""
    for target in targets_in(file, None, contract):
        if isinstance(target, InputError) or target.callee is None:
            yield target
        elif target.architecture.getrandom_port is None:
            reason = f"getrandom on {target.architecture.title} is not supported"
            yield InputError(target.source, reason)
        else:
            yield target
