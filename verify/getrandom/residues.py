"""Search for what a compiled getrandom leaves of the bytes that it does not give out.

Two calls are executed under QEMU that meet the same, but for a key and for bytes of the batch of
which neither is given out. Where they return the same, and a register or the stack below is not the
same afterwards, that follows from a secret.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from specs.opaque_state import BATCH_BYTES, GENERATION_OFFSET, KEY_BYTES
from verify.getrandom.claims import Claim
from verify.history.catalogue import EAGAIN, Histories
from verify.history.execution import execute
from verify.history.model import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.history import Done, Program, Step
    from verify.history.model import Left

SERVED = ((0, 1), (0, 96), (3, 7), (40, 16), (17, 64), (90, 4), (95, 1))
"""pos and length of calls that are served from the batch."""
LEFT_TO_THE_KERNEL = ((0, 40), (90, 12))
"""The same of calls for which no key comes."""
SEEDS = (1, 2)
"""Of the secrets."""
_GENERATION = 7


def residues(program: Program) -> dict[Claim, tuple[str, ...]]:
    """By the property that is broken: what two calls have met, and what they leave that differs.

    Raises QemuError where nothing can be executed.
    """
    first, second = ([(step,) for step in _steps(program, seed)] for seed in SEEDS)
    found: dict[Claim, tuple[str, ...]] = {}
    pairs = zip(first, second, execute(program, first), execute(program, second), strict=True)
    for (one,), (other,), (ours, *_), (theirs, *_) in pairs:
        if _public(ours) != _public(theirs) or ours.left is None or theirs.left is None:
            continue
        for claim, text in _differing(ours.left, theirs.left):
            found.setdefault(claim, (*_met(one, other), text))
    return found


def _steps(program: Program, seed: int) -> Iterator[Step]:
    """The calls, with the secrets of a seed."""
    histories, values = Histories(program), random.Random(seed)

    def state(generation: int, pos: int, given: int) -> bytes:
        whole = histories.state(generation, pos)
        rest = values.randbytes(BATCH_BYTES + KEY_BYTES - pos - given)
        return whole[: pos + given] + rest + whole[GENERATION_OFFSET:]

    for pos, length in SERVED:
        met = state(_GENERATION, pos, length)
        yield histories.step(length, generation=_GENERATION, state=met)
    for pos, length in LEFT_TO_THE_KERNEL:
        answers = (Answer(-EAGAIN), Answer(length, bytes(range(length))))
        met = state(_GENERATION - 1, pos, 0)
        yield histories.step(length, *answers, generation=_GENERATION, state=met)


def _public(done: Done) -> object:
    """What a caller may know of a call, and the kernel."""
    return done.result, done.buffer, tuple(replace(made, state=b"") for made in done.made)


def _differing(one: Left, other: Left) -> Iterator[tuple[Claim, str]]:
    for name, value in one.registers.items():
        if value != other.registers[name]:
            yield (
                Claim.SECRECY,
                f"{name} is {value:#x} after call 0, {other.registers[name]:#x} after call 1",
            )
    pairs = enumerate(zip(one.stack, other.stack, strict=True))
    changed = [(at - len(one.stack), *pair) for at, pair in pairs if pair[0] != pair[1]]
    for offset, ours, theirs in changed[:1]:
        yield (
            Claim.STACK,
            f"the byte at sp{offset:+d} is {ours:#x} after call 0, {theirs:#x} after call 1",
        )


def _met(one: Step, other: Step) -> Iterator[str]:
    call = one.call
    for number, step in enumerate((one, other)):
        assert step.state is not None
        met = f"generation {step.generation}, state {step.state.hex()}"
        yield f"call {number}: getrandom of {call.len} bytes, {met}"
