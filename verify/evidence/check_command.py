"""The command `check`; `register` adds it to the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verify.errors import InputError
from verify.report.console import console_for

if TYPE_CHECKING:
    from verify.evidence.check import Decision

REFUSED, UNDECIDED = 1, 3


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("check")(check_command)


def check_command(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR", show_default=False, help="A certificate, or a directory of several."
        ),
    ],
    *,
    reproduce: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Make the certificates again from the code in FILE, and compare every byte: that"
            " is what binds them to the code.",
        ),
    ] = None,
    proof: Annotated[
        bool,
        typer.Option(
            "--proof",
            help="Check DRAT proofs besides, for which python-sat and dratify are needed.",
        ),
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Questions asked at once.")] = 2,
) -> int:
    """Check certificates with three solvers.

    Neither the prover nor angr plays a part in it, but with --reproduce.

    Exit code, the first that applies: 1 a certificate is refused; 2 bad input or usage; 3 solvers
    disagree, or do not decide; 0 all are accepted.
    """
    if proof:
        from verify.evidence.check_proof import missing

        if package := missing():
            raise InputError(package, "is not installed; --proof needs it")
    places = [place for directory in directories for place in _certificates(directory)]
    indices: list[Mapping[str, Any]] = []
    codes = [_check(place, indices, reproduce, proof=proof, jobs=jobs) for place in places]
    if lacking := _missing_variants(indices):
        console_for(sys.stdout).print(f"refused: {lacking}", soft_wrap=True)
        codes.append(REFUSED)
    return REFUSED if REFUSED in codes else max(codes)


def _certificates(directory: Path) -> list[Path]:
    """The certificates in a directory: itself, or those below it."""
    from verify.evidence.check import INDEX, SUMS

    if not directory.is_dir():
        raise InputError(str(directory), "is no directory; name one that prove --certificate wrote")
    for name in (SUMS, INDEX):
        if (directory / name).exists():
            return [directory]
        if found := sorted(path.parent for path in directory.rglob(name)):
            return found
    raise InputError(str(directory), "holds no certificate")


def _check(
    place: Path, indices: list[Mapping[str, Any]], reproduce: str | None, *, proof: bool, jobs: int
) -> int:
    """Check one certificate and print what came of it; the exit code."""
    from verify.evidence.check import decide, examine, read
    from verify.evidence.check_abi import check_abi
    from verify.evidence.check_model import RefusedError

    console = console_for(sys.stdout)
    try:
        files = read(place)
        index, found = examine(files)
        check_abi(index)
        if reproduce is not None:
            from verify.evidence.reproduce import difference

            if different := difference(index, files, reproduce):
                raise RefusedError(different)
    except RefusedError as error:
        console.print(f"{place}: refused: {error}", soft_wrap=True, markup=False)
        return REFUSED
    code, what = judged(decide(found, jobs))
    if code:
        console.print(f"{place}: {what}", soft_wrap=True, markup=False)
        return code
    indices.append(index)
    lines = _summary(index, len(found), reproduce is not None)
    if proof:
        code, line = _proofs([one.question for one in found if one.answer == "unsat"], jobs)
        lines.append(line)
    console.print(f"{place}: {'accepted' if not code else 'not decided'}", soft_wrap=True)
    for line in lines:
        console.print(f"  {line}", soft_wrap=True, markup=False)
    return code


def judged(decisions: Iterable[Decision]) -> tuple[int, str]:
    """The exit code, and in one line the worst that the solvers say."""
    found = [one for one in decisions if not one.agreed]
    for code, what, those in (
        (UNDECIDED, "solvers disagree", [one for one in found if one.contradictory]),
        (REFUSED, "refused: it does not hold", [one for one in found if one.refuted]),
        (UNDECIDED, "not decided", found),
    ):
        if those:
            said = ", ".join(f"{name}: {answer}" for name, answer in those[0].said.items())
            return code, f"{what}: {those[0].obligation.id} ({said})"
    return 0, ""


def _summary(index: Mapping[str, Any], obligations: int, reproduced: bool) -> list[str]:
    """What an accepted certificate proves, and what it rests on."""
    from verify.evidence.check_solvers import SOLVERS

    target, verdicts = index["target"], index["verdicts"]
    solvers = ", ".join(f"{name} {version(name)}" for name in SOLVERS)
    lines = [
        f"{target['function']}, {target['size']} bytes at {target['address']} ("
        f"{target['architecture']}, {index['variant']['name']})",
        f"SHA-256 of these bytes {index['variant']['function_sha256']}",
        f"proved: {', '.join(name for name, verdict in verdicts.items() if verdict == 'PROVED')}",
    ]
    others = [f"{name} {verdict}" for name, verdict in verdicts.items() if verdict != "PROVED"]
    if others:
        lines.append(f"not proved: {', '.join(others)}")
    made = "; the same certificate was made again from the code" if reproduced else ""
    return [
        *lines,
        f"{obligations} obligations, on which {solvers} agree{made}",
        f"caveats: {', '.join(index['caveats'])}; trusted: {', '.join(index['trusted'])}",
    ]


def _missing_variants(indices: Iterable[Mapping[str, Any]]) -> str:
    """Which variant of a function has no certificate, in words; "" if none lacks one."""
    found: dict[tuple[str, str], tuple[int, set[int]]] = {}
    for index in indices:
        target, variant = index["target"], index["variant"]
        key = (target["image_sha256"], target["address"])
        _, numbers = found.setdefault(key, (variant["of"], set()))
        numbers.add(variant["number"])
    for (_, address), (many, numbers) in found.items():
        if numbers != set(range(1, many + 1)):
            return f"of the {many} variants of the function at {address}, only {sorted(numbers)}"
    return ""


def _proofs(questions: Sequence[str], jobs: int) -> tuple[int, str]:
    """Check a DRAT proof of each question; the exit code and one line."""
    from verify.evidence.check_proof import Proof, refute

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(refute, dict.fromkeys(questions)))
    counts = {kind: found.count(kind) for kind in Proof}
    line = (
        f"DRAT proofs: {counts[Proof.CHECKED]} checked; {counts[Proof.REWRITTEN]} questions are the"
        " empty clause once Z3 has rewritten them"
    )
    if counts[Proof.FAILED]:
        return UNDECIDED, f"{line}; {counts[Proof.FAILED]} proofs are not accepted"
    return 0, line
