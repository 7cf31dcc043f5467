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
    program: Program,
    histories: Sequence[History],
    seconds: float = SECONDS,
    seeds: Sequence[int | None] = (),
) -> list[tuple[Done, ...]]:
    """What each call of each history does; a history ends with the first call that does not return.

    `seconds` is what a call may take from one stop to the next. `seeds` are those of the values
    that registers and memory have of which a history says nothing, None for zeros; by default they
    are the numbers of the histories. Raises QemuError when QEMU is missing or cannot carry this
    out.
    """
    # Those that are interrupted have an image each, since it changes when that has happened.
    own = 0
    runs = []
    for history, seed in zip(histories, seeds or range(len(histories)), strict=True):
        interrupted = any(step.interruptions for step in history)
        own += interrupted
        runs.append(Run(program, history, seed, own if interrupted else 0, TOGETHER))
    go_on(program, runs, seconds)
    return [tuple(run.done) for run in runs]


def go_on(program: Program, runs: Sequence[Run], seconds: float) -> None:
    """Execute these to their ends."""
    while active := [run for run in runs if run.going]:
        for _, batch in groupby(sorted(active, key=lambda run: run.batch), lambda run: run.batch):
            _next_stop(program, list(batch), seconds)


def _next_stop(program: Program, runs: list[Run], seconds: float) -> None:
    trapped = {run.base: run.traps for run in runs}
    code = [blob for base, traps in trapped.items() for blob in code_of(program, base, traps)]
    cases = [run.case() for run in runs]
    outcomes = qemu.run(program.architecture.name, code, runs[0].entry, cases, timeout=seconds)
    for run, outcome in zip(runs, outcomes, strict=True):
        run.stopped(outcome)


def code_of(program: Program, base: int, traps: frozenset[int]) -> list[tuple[int, bytes]]:
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
