"""The same code, where the page of the state may be zeroed at any moment of a call.

Up to the head of the retry loop nothing of the state has been read but in_use, which is anything
anyway; that is for the caller to check. From there on each read of pos gives what was stored or,
if the page has been zeroed since, 0; reads of in_use and of the generation give anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from verify.getrandom.attempts import AGAIN_COUNTER, Attempts, Part
from verify.getrandom.covering import covers, most_general
from verify.getrandom.paths import Path, Walker
from verify.getrandom.setting import memory_of
from verify.lift.machine import Unsupported
from verify.terms import const


@dataclass(frozen=True)
class Disturbed:
    """All paths from one arrival at the head of the retry loop on. `first` are those of the first
    attempt, `second` those of the second. `more` are second attempts as they go on if nothing
    happens in them, from states in which only a disturbed first attempt leaves them."""

    first: Part
    second: tuple[Part, ...]
    more: tuple[Part, ...]


def heads(part: Part) -> tuple[Path, ...]:
    """The paths of a first part as they come to the head of the retry loop for the first time."""
    found = {id(path.first): path.first for path in (*part.returned, *part.back)}
    return tuple(path for path in found.values() if path is not None)


def disturbed(walker: Walker, parts: Sequence[Part], head: Path) -> Disturbed:
    """What may come of one of the heads of code whose undisturbed paths are `parts`.

    Raises Unsupported, also for an access to the batch that is not shown to lie in it.
    """
    attempts, undisturbed = Attempts(walker), parts[0]
    first = attempts.part(replace(_set(head, True), first=head), const(0, 64), once=False)
    if not first.returned:
        raise Unsupported(head.machine.pc, "no disturbed call is shown to return")
    slots = {part.slot for part in (undisturbed, first)} - {None}
    if len(slots) > 1:
        raise Unsupported(walker.setting.entry, "ChaCha20's counter has two places")
    slot = next(iter(slots), None)
    starts = most_general(attempts.again(path, slot) for path in first.back)
    return Disturbed(
        first,
        tuple(attempts.part(start, AGAIN_COUNTER, once=False) for start in starts),
        tuple(
            attempts.part(_set(start, False), AGAIN_COUNTER, once=False)
            for start in starts
            if not any(covers(part.start, start) for part in parts[1:])
        ),
    )


def _set(path: Path, disturbed: bool) -> Path:
    """The path with another setting of whether what comes is disturbed."""
    machine = path.machine.copy()
    memory_of(machine).disturbed = disturbed
    return replace(path, machine=machine)
