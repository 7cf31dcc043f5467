"""Search for histories of calls on which a compiled getrandom breaks one of its properties.

Histories are executed under QEMU: those of the catalogue, random ones, and calls that are
interrupted at each instruction. None of them does what the contract does not grant. One that
departs from the specification is made as small as it goes, and executed once more by itself.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import batched, islice
from typing import TYPE_CHECKING

from specs.opaque_state import STATE_BYTES
from verify.getrandom.claims import Claim
from verify.getrandom.execution.blame import Blamed, blame
from verify.getrandom.execution.interrupted import harm
from verify.history.catalogue import Histories, at, is_granted, random_history
from verify.history.departure import first_departure
from verify.history.execution import execute
from verify.history.model import Harm
from verify.history.smaller import smaller
from verify.history.specified import Overrun, Unanswered, specified

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from verify.history import Done, History, Program, Step

SEED = 20
RANDOM = 60
"""Random histories."""
CALLS = 3
"""In each of them."""

FEW = 4
"""Histories that are executed at first, since most code that is wrong at all is wrong in any."""
MOST = 64
TOGETHER = 480
"""Interrupted calls that are executed at once."""

SECONDS = 0.5
"""What a call may take from one stop to the next; it needs milliseconds."""
PATIENT_SECONDS = 4.0
"""The same where that it does not end is to be a verdict."""

_ROUNDS = 24
_TRIED = 48
"""Smaller histories that are executed in one round."""
_TRIED_LONG = 3
"""The same where each takes all the time that it may."""


@dataclass(frozen=True)
class Refutation:
    """A history of which the last call breaks a property, as `text` says.

    `done` is what its calls did, `expected` what they should have done; this is empty for a history
    with an interruption, of which that is not known exactly.
    """

    property: str
    text: str
    history: History
    done: tuple[Done, ...]
    expected: tuple[Done, ...]


def refutations(
    program: Program, instructions: Iterable[int], *, every: bool = True
) -> dict[str, Refutation]:
    """By property a small history that shows it broken.

    `instructions` are the addresses at which calls are interrupted. With `every` false no more is
    looked for when something has been found, and that is as it was found. Raises QemuError where
    nothing can be executed.
    """
    found: dict[str, Refutation] = {}
    for histories in _stages(program, instructions):
        if endless(found) and any(step.interruptions for step in histories[0]):
            # Each would take its time; what never ends has shown what it does.
            break
        for one in _broken(program, histories, SECONDS, found):
            if one.property not in found:
                kept = (
                    _smallest(program, one) if every else again(program, one.history, one.property)
                )
                found |= {} if kept is None else {one.property: kept}
        if found and not every:
            break
    return found


def endless(found: Mapping[str, Refutation]) -> bool:
    """Whether a call took all the time that it may."""
    ends = (breach for one in found.values() for breach in one.done[-1].breaches)
    return any(breach.harm is Harm.ENDLESS for breach in ends)


def _stages(program: Program, instructions: Iterable[int]) -> Iterator[Sequence[History]]:
    """Histories in the order in which they are tried, those together that are executed at once."""
    histories = Histories(program)
    values = random.Random(SEED)
    plain = [
        *histories.named().values(),
        *histories.inside().values(),
        *(random_history(program, values, CALLS) for _ in range(RANDOM)),
    ]
    waiting = (history for history in plain if is_granted(history))
    size = FEW
    while stage := list(islice(waiting, size)):
        yield stage
        size = min(2 * size, MOST)
    interrupted = (
        at(step, address) for address in instructions for step in histories.interrupted().values()
    )
    yield from batched(interrupted, TOGETHER)


def _broken(
    program: Program, histories: Iterable[History], seconds: float, known: Container[str] = ()
) -> Iterator[Refutation]:
    """What these histories break besides the properties that are known to be broken; of each one
    the first call that does otherwise, as the last."""
    kept, wanted = [], []
    for history in histories:
        try:
            wanted.append(_expected(program, history))
        except (Unanswered, Overrun):
            continue
        kept.append(history)
    executed = execute(program, kept, seconds)
    for history, expected, done in zip(kept, wanted, executed, strict=True):
        number, broken = _judged(program, history, expected, done)
        blamed = {name: text for name, text in broken.items() if name not in known}
        end = number + 1
        if blamed and not expected and not _right_in_peace(program, history, seconds):
            continue
        for name, text in blamed.items():
            yield Refutation(name, text, history[:end], done[:end], expected[:end])


def _right_in_peace(program: Program, history: History, seconds: float) -> bool:
    """Whether it is the interruption that does harm: without it, or with what happens then in
    front of it or behind it, the calls are as specified."""
    (step,) = history
    (happening,) = step.interruptions
    calm = replace(step, interruptions=())
    then = replace(calm, state=happening.state) if happening.call is None else happening.call
    peaceful: list[History] = [(calm, then)]
    if happening.call is not None:
        peaceful.append((replace(then, state=step.state), replace(calm, state=None)))
    try:
        wanted = [tuple(specified(program, one)) for one in peaceful]
    except (Unanswered, Overrun):
        return False
    executed = execute(program, peaceful, seconds)
    return all(
        first_departure(expected, done) is None
        for expected, done in zip(wanted, executed, strict=True)
    )


def _expected(program: Program, history: History) -> tuple[Done, ...]:
    if any(step.interruptions for step in history):
        return ()
    return tuple(specified(program, history))


def _judged(
    program: Program, history: History, expected: Sequence[Done], done: Sequence[Done]
) -> tuple[int, Blamed]:
    """The number of the first call that is not as it should be, and what it breaks."""
    if not expected:
        ((step,), (one,)) = history, done
        return 0, harm(program, step, one)
    first = first_departure(expected, done)
    if first is None:
        return 0, {}
    number, _ = first
    step = _standing_alone(history, expected, number)
    return number, blame(program, step, expected[number], done[number])


def _standing_alone(history: History, expected: Sequence[Done], number: int) -> Step:
    """A call with the state that it meets."""
    step = history[number]
    if step.state is not None:
        return step
    return replace(step, state=expected[number - 1].state if number else bytes(STATE_BYTES))


def _smallest(program: Program, one: Refutation) -> Refutation | None:
    """The same on as small a history as is found, seen once more; None where it is not seen."""
    number = len(one.history) - 1
    tried: list[History] = [one.history]
    if number:
        tried.insert(0, (_standing_alone(one.history, one.expected, number),))
    for _ in range(_ROUNDS):
        better = next(_showing(program, tried, one.property), None)
        if better is None:
            break
        one = better
        most = _TRIED_LONG if one.property == Claim.TERMINATION else _TRIED
        tried = smaller(program, one.history)[:most]
    return again(program, one.history, one.property)


def again(program: Program, history: History, name: str) -> Refutation | None:
    """What executing a history shows of the property of that name, if it shows it broken."""
    return next(_showing(program, [history], name, PATIENT_SECONDS), None)


def _showing(
    program: Program, histories: Iterable[History], name: str, seconds: float = SECONDS
) -> Iterator[Refutation]:
    return (one for one in _broken(program, histories, seconds) if one.property == name)
