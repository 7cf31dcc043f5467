"""Execute histories under QEMU, and note the address of each instruction that is executed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from verify import qemu
from verify.history.execution import SECONDS, code_of
from verify.history.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.history.model import Done, History, Program


@dataclass(frozen=True)
class Traced:
    """What each call of a history did, and the addresses in the image of all instructions that
    were executed, ChaCha20's among them, in order."""

    done: tuple[Done, ...]
    addresses: tuple[int, ...]


def traced(
    program: Program,
    histories: Sequence[History],
    seconds: float = SECONDS,
    seeds: Sequence[int | None] = (),
) -> list[Traced]:
    """Execute histories without interruptions as `execute` does, one instruction at a time.

    An instruction that makes a system call is noted once, when it is come to. Raises QemuError as
    `execute` does, and where QEMU does not log the instructions.
    """
    runs = [
        Run(program, history, seed, 0, 1)
        for history, seed in zip(histories, seeds or range(len(histories)), strict=True)
    ]
    found: dict[Run, list[int]] = {run: [] for run in runs}
    while active := [run for run in runs if run.going]:
        for _, some in groupby(sorted(active, key=_entry), _entry):
            for run, addresses in _go_on(program, list(some), seconds):
                found[run] += addresses
    return [Traced(tuple(run.done), tuple(addresses)) for run, addresses in found.items()]


def _entry(run: Run) -> int:
    return run.entry


def _go_on(
    program: Program, runs: Sequence[Run], seconds: float
) -> Iterator[tuple[Run, list[int]]]:
    """Execute these up to the next stop, from one address; with each what it has executed."""
    base, cases = runs[0].base, [run.case() for run in runs]
    code = code_of(program, base, runs[0].traps)
    first = min(address for address, _ in code)
    last = max(address + len(data) for address, data in code) - 1
    name, entry = program.architecture.name, runs[0].entry

    def trace(some: Sequence[qemu.Case]) -> list[tuple[qemu.Outcome, tuple[int, ...]]]:
        return qemu.trace(name, code, entry, some, (first, last), timeout=seconds)

    try:
        traces = trace(cases)
    except qemu.QemuError:
        # Those that come back to where they begin can only be told apart one by one.
        traces = [one for case in cases for one in trace([case])]
    for run, (outcome, addresses) in zip(runs, traces, strict=True):
        run.stopped(outcome)
        yield run, [at - base for at in addresses]
