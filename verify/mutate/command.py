"""The command `mutate`; `register` adds it to the command line."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verify.batch import targets_in
from verify.contractoption import DataPage, Linux, PageSize, require_possible
from verify.errors import InputError
from verify.fileoption import Function
from verify.options import PROPERTIES_OF, Options
from verify.report.console import console_for
from verify.verdict import Contract, Verdict

if TYPE_CHECKING:
    from verify.mutate.model import Judgement, Mutant
    from verify.target import Target

_MEBIBYTE = 1 << 20
_PACKAGE = Path(__file__).resolve().parents[1]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("mutate")(mutate)


def mutate(  # noqa: PLR0913  # one for each option
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A file as for prove, with one function that is proved."
        ),
    ],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The journal, one line of JSON for each mutant."
        ),
    ],
    function: Function = None,
    contract: Annotated[
        Contract,
        typer.Option(
            "--contract", help="What the function has to do. Of a getrandom its ChaCha20 is kept."
        ),
    ] = Contract.CHACHA20,
    page_size: PageSize = None,
    data_page: DataPage = None,
    linux: Linux = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the journal after an interruption.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Judge N of the mutants, which the seed chooses."),
    ] = None,
    open_in: Annotated[
        Path | None,
        typer.Option(
            "--open-in",
            metavar="JOURNAL",
            help="Judge only the mutants that another journal leaves UNKNOWN or not explained.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Choose other mutants with --sample, and other replacements of registers.",
        ),
    ] = 0,
    every: Annotated[
        bool,
        typer.Option("--all", help="Decide every property of a mutant, not up to the first."),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            show_default="one for each processor",
            help="Processes of the local cluster.",
        ),
    ] = os.cpu_count() or 1,
    memory: Annotated[
        int, typer.Option(min=256, metavar="MIB", help="What one process may use, in MiB.")
    ] = 3072,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Use this Dask scheduler's workers instead."),
    ] = None,
) -> int:
    """Change a proved function, and see that it is noticed.

    Each mutant has one change and is proved anew; what is not proved is executed under QEMU. A
    mutant that is PROVED is a hole in the harness unless it is shown to be equivalent by an
    argument that the proof does not use. Of a getrandom histories of calls are executed first, and
    only mutants that do as specified and are not shown to be equivalent are proved.

    Exit code, the first that applies: 1 there is a hole; 2 bad input or usage; 3 some
    mutant is UNKNOWN; 0 every mutant is REFUTED or equivalent.
    """
    from verify.mutate.campaign import Resources, run
    from verify.mutate.journal import Header, Journal
    from verify.mutate.model import selection_id
    from verify.mutate.operators import mutants_of
    from verify.mutate.operators import sample as choose
    from verify.mutate.progress import Progress

    require_possible(
        contract,
        certificate=None,
        cached=False,
        page_size=page_size,
        data_page=data_page,
        linux=linux,
    )
    options = Options(
        PROPERTIES_OF[contract],
        contract=contract,
        page_bytes=page_size,
        data_page=data_page,
        linux=linux,
    )
    target = _target(file, function, contract)
    try:
        made = mutants_of(target, instructions_of(target), seed)
    except KeyError:
        title = target.architecture.title
        raise InputError(file, f"the mutation of {title} code is not known") from None
    chosen = choose(made, sample, seed)
    if open_in is not None:
        chosen = _left_open(chosen, open_in, target)
    header = Header(
        Path(file).name,
        target.architecture.name,
        target.sha256,
        target.function.name,
        target.function_sha256,
        _harness(),
        seed,
        selection_id(chosen),
        len(chosen),
        len(made),
        every,
        contract.value,
    )
    with Journal(output, header, resume=resume) as journal:
        left = [mutant for mutant in chosen if mutant.id not in journal.judged]
        if left:
            _require_proved(target, options)
        with Progress(len(chosen), len(chosen) - len(left)) as progress:

            def done(judgement: Judgement) -> None:
                journal.add(judgement)
                progress.done(judgement)

            resources = Resources(scheduler, min(workers, max(1, len(left))), memory * _MEBIBYTE)
            if left:
                run(target, left, options, resources, done, every=every)
        judged = sorted(
            journal.judged.values(), key=lambda one: (one.mutant.address, one.mutant.id)
        )
    _print(judged, chosen)
    return _exit_code(judged)


def _target(file: str, function: str | None, contract: Contract) -> Target:
    found = list(targets_in(file, function, contract))
    if len(found) != 1:
        raise InputError(file, f"it holds {len(found)} functions; name a file with one")
    if isinstance(found[0], InputError):
        raise found[0]
    return found[0]


def instructions_of(target: Target) -> list[int]:
    """The addresses of the instructions in a function's control flow; what it calls is left out,
    but for what a getrandom calls that is not its ChaCha20."""
    from verify.lift.angr_import import import_angr

    import_angr()
    from verify.lift.select import engine_for
    from verify.mutate.shape import SHAPES

    contract = Contract.CHACHA20 if target.callee is None else Contract.GETRANDOM
    flow = SHAPES[contract].flow(target, engine_for(target.architecture, target.code))
    return [address for block in flow.blocks.values() for address in block.instructions]


def _left_open(mutants: Sequence[Mutant], path: Path, target: Target) -> tuple[Mutant, ...]:
    """Those that a campaign on the same function has not decided; raises InputError."""
    from verify.mutate.journal import read

    header, judged = read(path)
    if header.function_sha256 != target.function_sha256:
        raise InputError(str(path), f"it is of another function, {header.function_sha256}")
    left = {one.mutant.id for one in judged if one.verdict is not Verdict.REFUTED}
    left -= {one.mutant.id for one in judged if one.equivalent}
    return tuple(mutant for mutant in mutants if mutant.id in left)


def _require_proved(target: Target, options: Options) -> None:
    """A campaign says nothing where the function itself is not proved."""
    from verify.run import prove

    result = prove(target, options)
    if result.verdict is not Verdict.PROVED:
        raise InputError(target.source, f"the function itself is {result.verdict.value}")


def _harness() -> str:
    """A hash of the harness's own sources, in hexadecimal."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _print(judged: Sequence[Judgement], chosen: Sequence[Mutant]) -> None:
    console = console_for(sys.stdout)
    equivalent = [one for one in judged if one.equivalent]
    holes = [one for one in judged if one.hole]
    unknown = [one for one in judged if one.open]
    refuted = [one for one in judged if one.verdict is Verdict.REFUTED]
    console.print(
        f"{len(judged)} of {len(chosen)} mutants: {len(refuted)} REFUTED, {len(equivalent)}"
        f" equivalent, {len(unknown)} UNKNOWN, {len(holes)} PROVED without an explanation",
        soft_wrap=True,
    )
    for one in (*holes, *unknown):
        change = f"{one.mutant.address:#x}: {one.before} -> {one.after}"
        console.print(f"{one.verdict.value}: {change}: {one.reason}".rstrip(": "), soft_wrap=True)


def _exit_code(judged: Sequence[Judgement]) -> int:
    if any(one.hole for one in judged):
        return 1
    return 0 if all(one.verdict is Verdict.REFUTED or one.equivalent for one in judged) else 3
