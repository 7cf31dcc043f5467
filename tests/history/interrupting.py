"""Calls interrupted at instructions, against what the specification allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.history import execute, is_possible, possible
from verify.history.catalogue import at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.history import Program, Step


SHOWN = {
    "copy-checked-at-end": "wiped within the batch",
    "generation-after-request": "wiped with reseed",
    "in-use-ignored": "called again with refill",
    "in-use-not-set": "called again with refill",
    "key-not-asked-for-if-pos-changes": "wiped with reseed",
}
"""By the name of the fault: which interruption shows it."""


def near_system_calls(one: Program) -> list[int]:
    """The instructions where a key is about to be asked for, or has just come."""
    every = one.instructions
    places = [number for number, at in enumerate(every) if at in one.system_calls]
    near = {at for place in places for at in every[max(place - 16, 0) : place + 17]}
    return sorted(near)


def wrong(one: Program, steps: Sequence[Step], addresses: Sequence[int]) -> tuple[int, list[int]]:
    """How many of the calls were interrupted, and at which instructions what came of it is not
    what the specification allows."""
    pairs = [(step, address) for step in steps for address in addresses]
    executed = execute(one, [at(step, address) for step, address in pairs])
    allowed = {step: possible(one, step) for step in steps}
    interrupted = [
        (is_possible(done, allowed[step]), address)
        for (step, address), (done,) in zip(pairs, executed, strict=True)
        if done.interrupted
    ]
    return len(interrupted), [address for right, address in interrupted if not right]
