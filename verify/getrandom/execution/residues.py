"""Search for what a compiled getrandom leaves of the bytes that it does not give out.

Two calls are executed under QEMU that meet the same, but for keys and for bytes of the batch of
which neither is given out. Where they return the same, as specified, and a register or the stack
below is not the same afterwards, that follows from a secret.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verify.counterexample import Look, Observation
from verify.getrandom.claims import Claim
from verify.getrandom.execution.pairs import as_specified, executed_sides
from verify.getrandom.execution.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.getrandom.execution.pairs import Pair
    from verify.history import Done, Program
    from verify.history.model import Left


def residues(program: Program, pairs: Sequence[Pair]) -> Iterator[Seen]:
    """What pairs of calls leave that differs, though they give out the same. Raises QemuError where
    nothing can be executed."""
    done = executed_sides(program, pairs)
    for pair in pairs:
        ours, theirs = (done[side] for side in pair.sides)
        if _public(ours) != _public(theirs) or ours.left is None or theirs.left is None:
            continue
        found = list(_differing(ours.left, theirs.left))
        if not found or not as_specified(program, pair, (ours, theirs)):
            continue
        for claim, text, place in found:
            yield Seen(claim, text, pair, (ours, theirs), place)


def _public(done: Done) -> object:
    """What a caller may know of a call, and the kernel."""
    return done.result, done.buffer, tuple(replace(made, state=b"") for made in done.made)


def _differing(one: Left, other: Left) -> Iterator[tuple[Claim, str, Observation]]:
    for name, value in one.registers.items():
        if value != other.registers[name]:
            text = f"{name} is {value:#x} after call 0, {other.registers[name]:#x} after call 1"
            yield Claim.SECRECY, text, Observation(Look.REGISTER, register=name)
    pairs = enumerate(zip(one.stack, other.stack, strict=True))
    changed = [(at - len(one.stack), *pair) for at, pair in pairs if pair[0] != pair[1]]
    for offset, ours, theirs in changed[:1]:
        text = f"the byte at sp{offset:+d} is {ours:#x} after call 0, {theirs:#x} after call 1"
        place = Observation(Look.RETURN, region="stack", offset=offset, size=1)
        yield Claim.STACK, text, place
