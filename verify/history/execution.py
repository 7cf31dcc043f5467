"""Execute histories under QEMU, all of them side by side.

An illegal instruction stands in place of each one that makes a system call, and of each at which
the history wants to interrupt. Every call runs up to one of them or to its return; then what the
history says happens, and all histories that have not ended go on together in the next batch, from
the registers and the memory in which they stopped.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from verify import qemu
from verify.history.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.history.model import Done, History, Program

SECONDS = 20.0
"""What a call needs by far less of from one stop to the next: milliseconds."""

TOGETHER = 48
"""So many images of their own may be in one batch."""


def execute(
    program: Program, histories: Sequence[History], seconds: float = SECONDS
) -> list[tuple[Done, ...]]:
    """What each call of each history does; a history ends with the first call that does not return.

    `seconds` is what a call may take from one stop to the next. Raises QemuError when QEMU is
    missing or cannot carry this out.
    """
    # Those that are interrupted have an image each, since it changes when that has happened.
    own = 0
    runs = []
    for number, history in enumerate(histories):
        interrupted = any(step.interruptions for step in history)
        own += interrupted
        runs.append(Run(program, history, number, own if interrupted else 0, TOGETHER))
    while active := [run for run in runs if run.going]:
        for _, batch in groupby(sorted(active, key=lambda run: run.batch), lambda run: run.batch):
            _go_on(program, list(batch), seconds)
    return [tuple(run.done) for run in runs]


def _go_on(program: Program, runs: list[Run], seconds: float) -> None:
    trapped = {run.base: run.traps for run in runs}
    code = [blob for base, traps in trapped.items() for blob in _code(program, base, traps)]
    cases = [run.case() for run in runs]
    outcomes = qemu.run(program.architecture.name, code, runs[0].entry, cases, timeout=seconds)
    for run, outcome in zip(runs, outcomes, strict=True):
        run.stopped(outcome)


def _code(program: Program, base: int, traps: frozenset[int]) -> list[tuple[int, bytes]]:
    """The image at `base` with traps at these addresses of it."""
    trap = program.architecture.illegal_instruction
    blobs = []
    for address, data in program.segments:
        patched = bytearray(data)
        for at in traps:
            if address <= at < address + len(data):
                patched[at - address : at - address + len(trap)] = trap
        blobs.append((address + base, bytes(patched)))
    return blobs
