"""Count the instructions of calls on the fast path, each executed under QEMU."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import batched, pairwise
from typing import TYPE_CHECKING

from specs.getrandom_world import Call
from specs.opaque_state import (
    BATCH_BYTES,
    KEY_BYTES,
    PADDING_OFFSET,
    STATE_BYTES,
    State,
    encode,
)
from verify.history.departure import departure
from verify.history.model import Step
from verify.history.specified import specified
from verify.history.tracing import traced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verify.history.layout import Booted
    from verify.history.model import Program

type Served = tuple[int, int]
"""A call on the fast path: its length in bytes, from 1 on, and the state's pos, 0..96."""

ALIGNED, UNALIGNED = 0x300_0000, 0x300_0001
"""Where the buffer is: at a multiple of 64 and of each size of pages, and one byte further."""
_STATE = 0x200_0040
_GENERATION = 7
_TOGETHER = 512
"""Calls in one process of QEMU, so that its log stays small."""


class Uncounted(Exception):
    """Why the instructions of a program's calls cannot be counted, in words."""


@dataclass(frozen=True)
class Counts:
    """The number of instructions of each call, ChaCha20's among them, from the first of the
    exported function to its return; and the addresses of all of them, in the image."""

    by_call: dict[Served, int]
    executed: frozenset[int]


def counts(booted: Booted, calls: Iterable[Served], buffer: int = ALIGNED) -> Counts:
    """Count the instructions of these calls, whose buffer is at that address.

    The state's generation is the kernel's, which is ready. What a call returns and writes is
    compared with the specification. Raises Uncounted where one does otherwise or makes a system
    call, where what runs at an address is not known, and where QEMU executes an instruction in
    several steps; QemuError where QEMU is missing.
    """
    by_call: dict[Served, int] = {}
    executed: set[int] = set()
    for some in batched(calls, _TOGETHER):
        for call, trace in _traced(booted.program, some, buffer):
            again = next((one for one, other in pairwise(trace) if one == other), None)
            if again is not None:
                raise Uncounted(f"the instruction at {again:#x} is executed twice in a row")
            by_call[call] = len(trace)
            executed.update(trace)
    for one in booted.refused:
        if any(one.address <= at < one.end for at in executed):
            raise Uncounted(
                f"the kernel replaces the code at {one.address:#x} ({one.condition}), but"
                f" {one.refused}"
            )
    return Counts(by_call, frozenset(executed))


def _traced(
    program: Program, calls: Sequence[Served], buffer: int
) -> Iterator[tuple[Served, tuple[int, ...]]]:
    """The addresses of the instructions that each call executes, in order."""
    histories = [(_step(program, call, buffer),) for call in calls]
    for call, history, one in zip(calls, histories, traced(program, histories), strict=True):
        wrong = departure(list(specified(program, history)), one.done)
        if wrong:
            raise Uncounted(f"a call for {call[0]} bytes with pos {call[1]} is not served: {wrong}")
        yield call, one.addresses


def _step(program: Program, call: Served, buffer: int) -> Step:
    """A call with a state as earlier calls have left it."""
    length, pos = call
    values = random.Random(pos)
    state = State(
        batch=(*bytes(pos), *values.randbytes(BATCH_BYTES - pos)),
        key=tuple(values.randbytes(KEY_BYTES)),
        generation=_GENERATION,
        pos=pos,
        in_use=0,
        padding=tuple(bytes(STATE_BYTES - PADDING_OFFSET)),
    )
    return Step(
        Call(buffer, length, 0, _STATE, STATE_BYTES),
        _GENERATION,
        buffer=bytes(length),
        state=encode(state, program.architecture.byte_order),
    )
