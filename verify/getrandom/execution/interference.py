"""Search for pairs of calls in which a secret shows, under QEMU: in what they leave, in which
instructions they execute, or in which addresses these access.

A call is executed again by itself before anything is said of it, twice, and has to show the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.getrandom.claims import RESTS_ON, Claim
from verify.getrandom.execution.blame import blame
from verify.getrandom.execution.pairs import (
    FEW_BYTES,
    LONGER,
    QUIET,
    any_secrets,
    ones,
    quiet,
    some,
    unequal,
)
from verify.getrandom.execution.remnants import remnants
from verify.getrandom.execution.residues import residues
from verify.getrandom.execution.steered import accessed, steered
from verify.history.specified import Overrun, Unanswered, specified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.getrandom.execution.pairs import Pair
    from verify.getrandom.execution.seen import Seen
    from verify.history import Program


def interferences(
    program: Program, *, steers: bool = True, accesses: bool = True
) -> dict[Claim, Seen]:
    """By the property that it breaks, a pair.

    What steers is looked at with `steers` only, addresses and operands with `accesses` only. Raises
    QemuError where nothing can be executed.
    """
    found: dict[Claim, Seen] = {}
    for one in _seen(program, steers=steers, accesses=accesses):
        if one.property not in found and _stands(program, one):
            shown = [again(program, one.property, one.pair) for _ in range(2)]
            if shown[0] is not None and shown[0] == shown[1]:
                found[one.property] = shown[0]
    return found


def _seen(program: Program, *, steers: bool, accesses: bool) -> Iterator[Seen]:
    yield from residues(program, list(quiet(program)))
    yield from remnants(program, list(unequal(program)))
    if steers:
        yield from steered(program, list(any_secrets(program, (*QUIET, *LONGER), (ones, some(0)))))
    if accesses:
        yield from accessed(program, list(any_secrets(program, FEW_BYTES, (some(0),))))


def again(program: Program, claim: Claim, pair: Pair) -> Seen | None:
    """What executing a pair shows of a property, if it shows it broken."""
    looks = (steered, accessed) if claim is Claim.TIMING else (residues, remnants)
    found = (one for look in looks for one in look(program, [pair]))
    return next((one for one in found if one.property is claim and _stands(program, one)), None)


def _stands(program: Program, one: Seen) -> bool:
    """Whether neither call has broken a property on which this one rests: which bytes are given
    out, so that all others are secret, is what the specification says."""
    needed = RESTS_ON.get(one.property, ())
    for step, done in zip(one.pair.steps, one.done, strict=True):
        try:
            (right,) = specified(program, (step,))
        except (Unanswered, Overrun):
            return False
        if not blame(program, step, right, done).keys().isdisjoint(needed):
            return False
    return True
