"""The same code, where the page of the state may be zeroed at any moment of a call.

Up to the head of the retry loop nothing of the state has been read but in_use, which is anything
anyway; that is for the caller to check. From there on each read of pos gives what was stored or,
if the page has been zeroed since, 0; reads of in_use and of the generation give anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from verify.getrandom.walk.attempts import AGAIN_COUNTER, Attempts, Part
from verify.getrandom.walk.covering import most_general, state_at
from verify.getrandom.walk.paths import Path, Walker
from verify.getrandom.walk.setting import Setting, memory_of
from verify.lift.machine import Unsupported
from verify.terms import const


@dataclass(frozen=True)
class Undisturbed:
    """What has to be known of the undisturbed code, as plain data: where it has ChaCha20's counter,
    as in `Part`, and digests of the states in which it begins second attempts."""

    slot: int | None
    states: frozenset[str]


def undisturbed(setting: Setting, parts: Sequence[Part]) -> Undisturbed:
    """That of code whose undisturbed paths are these."""
    states = frozenset(state_at(setting, part.start) for part in parts[1:])
    return Undisturbed(parts[0].slot, states)


@dataclass(frozen=True)
class Disturbed:
    """All paths from one arrival at the head of the retry loop on. `first` are those of the first
    attempt, `second` those of the second. `more` are second attempts as they go on if nothing
    happens in them, from states in which only a disturbed first attempt leaves them."""

    first: Part
    second: tuple[Part, ...]
    more: tuple[Part, ...]


def disturbed(walker: Walker, head: Path, known: Callable[[], Undisturbed]) -> Disturbed:
    """What may come of one of the heads; `known` is asked when that is walked.

    Raises Unsupported, also for an access to the batch that is not shown to lie in it.
    """
    attempts = Attempts(walker)
    first = attempts.part(replace(_set(head, True), first=head), const(0, 64))
    if not first.returned:
        raise Unsupported(head.machine.pc, "no disturbed call is shown to return")
    starts = most_general(attempts.again(path, first.slot) for path in first.back)
    second = tuple(attempts.part(start, AGAIN_COUNTER) for start in starts)
    calm = known()
    if calm.slot not in (None, first.slot):
        raise Unsupported(walker.setting.entry, "ChaCha20's counter has two places")
    return Disturbed(
        first,
        second,
        tuple(
            attempts.part(_set(start, False), AGAIN_COUNTER)
            for start in starts
            if state_at(walker.setting, start) not in calm.states
        ),
    )


def _set(path: Path, disturbed: bool) -> Path:
    """The path with another setting of whether what comes is disturbed."""
    machine = path.machine.copy()
    memory_of(machine).disturbed = disturbed
    return replace(path, machine=machine)
