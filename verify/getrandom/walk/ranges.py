"""Ranges of bytes that are moved: neighbours as one, all iterations of a loop as one."""

from __future__ import annotations

from dataclasses import replace

from verify.getrandom.walk.events import BatchRead, Copy, Event, Moved, Zero
from verify.lift.machine import Unsupported
from verify.terms import Linear, Term, variables


def joined(events: tuple[Event, ...]) -> list[Event]:
    """The events, with neighbouring ranges of one kind as one. Between two events that are no
    moves, each kind of moves has an order of its own."""
    found: list[Event] = []
    latest: dict[type, int] = {}
    for event in events:
        if not isinstance(event, Moved):
            latest.clear()
            found.append(event)
            continue
        index = latest.get(type(event))
        before = None if index is None else found[index]
        both = _joined_with(before, event) if isinstance(before, Moved) else None
        if both is not None and index is not None:
            found[index] = both
        else:
            latest[type(event)] = len(found)
            found.append(event)
    return found


def apart(zero: Zero, read: BatchRead) -> bool:
    """Whether a read of the batch is seen to lie in front of or behind what was erased of it.

    That both lie in the batch is shown where they are made. So none of their ends wraps, and of two
    that are a constant apart the order is known.
    """
    if not zero.size.is_constant or zero.size.constant <= 0:
        return False
    gaps = (
        zero.start.plus(read.start.plus(read.size), -1),
        read.start.plus(zero.start.plus(zero.size), -1),
    )
    return any(gap.is_constant and gap.constant >= 0 for gap in gaps)


def merged(events: tuple[Event, ...]) -> list[Moved]:
    """The events of one iteration, with neighbouring ranges of one kind as one range."""
    assert all(isinstance(one, Moved) for one in events)
    found = [one for one in joined(events) if isinstance(one, Moved)]
    if sum(isinstance(one, Copy) for one in found) > 1:
        # They could overlap those of other iterations.
        raise Unsupported(events[0].at, "an iteration copies to several places")
    return found


def _joined_with(first: Moved, second: Moved) -> Moved | None:
    """One range in place of two of one kind, if the second goes on where the first ends."""
    if type(first) is not type(second) or first.epoch != second.epoch:
        return None
    if first.start.plus(first.size) != second.start:
        return None
    size = first.size.plus(second.size)
    if isinstance(first, Copy):
        assert isinstance(second, Copy)
        return replace(first, size=size) if first.to.plus(first.size) == second.to else None
    return replace(first, size=size)


def all_before(event: Moved, number: Term, fixed: frozenset[Term]) -> Moved:
    """What all iterations before one have done together, of which each does this. `fixed` are the
    variables that hold the same in each of them.

    Raises Unsupported where they leave gaps, or do not go on by constants.
    """
    start, step = _moving(event.start, number, fixed, event.at)
    size = event.size.constant
    steps = [step]
    whole = Linear(number.width, 0, {number: size}) if size else Linear(number.width, 0)
    if isinstance(event, Copy):
        to, step = _moving(event.to, number, fixed, event.at)
        steps.append(step)
        event = replace(event, to=to)
    if not event.size.is_constant or any(step != size for step in steps):
        raise Unsupported(event.at, "the loop does not move bytes one behind the other")
    return replace(event, start=start, size=whole)


def _moving(position: Linear, number: Term, fixed: frozenset[Term], at: int) -> tuple[Linear, int]:
    """The position in the first iteration, and how far it goes on in each."""
    step = position.coefficients.get(number, 0)
    start = position.without(number)
    if not variables(start.coefficients) <= fixed:
        raise Unsupported(at, "a position depends on more than the iteration")
    return start, step
