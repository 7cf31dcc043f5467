"""What the code does to memory, settled by what is known on its path where it does it.

An access to the batch is shown to lie in it, what is stored there to be one value, and a read of
the kernel's data to be of the right page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from specs.opaque_state import BATCH_BYTES
from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.events import BatchRead, Constant, Event, PageRead, Stored, Zero
from verify.getrandom.walk.namespaces import placed, said_of_namespace
from verify.getrandom.walk.ranges import apart, joined
from verify.getrandom.walk.setting import Setting, granted_of, memory_of
from verify.getrandom.walk.words import WORD_BYTES, whole
from verify.lift.machine import Unsupported
from verify.terms import add, const, disjunction, equal, evaluate, unsigned_less_equal

if TYPE_CHECKING:
    from verify.getrandom.walk.paths import Path


def with_events(
    setting: Setting, questions: Questions, path: Path, new: Iterable[Event | Stored], checked: bool
) -> Path:
    """The path with new events, and with what is granted of what they have read.

    `checked` is whether accesses to the batch have to be shown to lie in it. Raises Unsupported
    where something is not shown.
    """
    origins = memory_of(path.machine).origins
    for one in new:
        event = _settled(questions, path, one) if isinstance(one, Stored) else one
        if isinstance(event, Zero | Constant):
            event = _without_length(setting, questions, path, event)
        if isinstance(event, PageRead):
            said = said_of_namespace(setting.layout, setting.base, event)
            if said is not None:
                path = replace(path, facts=(*path.facts, said))
                origins.of_namespace |= {event.value}
                continue
            event = placed(setting.layout, setting.base, path.facts, questions, event)
        if checked and isinstance(event, BatchRead | Zero):
            _check(questions, path, event)
        granted = [one for one in granted_of(event) if one not in path.facts]
        events = _with(setting, path.events, event)
        path = replace(path, events=events, facts=(*path.facts, *granted))
    return path


def _with(setting: Setting, events: tuple[Event, ...], event: Event) -> tuple[Event, ...]:
    """The events and one more; two accesses to the words of a generation are one."""
    if setting.bits == 8 * WORD_BYTES and events:
        both = whole(events[-1], event, setting.architecture.byte_order == "little")
        if both is not None:
            return (*events[:-1], both)
    return (*events, event)


def _without_length(
    setting: Setting, questions: Questions, path: Path, event: Zero | Constant
) -> Zero | Constant:
    """The same, where it begins so many bytes behind len and that is shown to be 0: a compiler
    takes the register of an argument that is 0 for one that is cleared."""
    length = setting.argument("len")
    zero = equal(length, const(0, length.width))
    if length in event.start.coefficients and questions.follows(path.facts, zero):
        return replace(event, start=event.start.without(length))
    return event


def _settled(questions: Questions, path: Path, event: Stored) -> Event:
    """What was written, where it can only be one value; raises Unsupported otherwise."""
    example = questions.example(path.facts)
    if example is not None:
        value = evaluate([event.value], example, 0)[event.value]
        if questions.follows(path.facts, equal(event.value, const(value, event.value.width))):
            return event.settled(value, memory_of(path.machine).epoch)
    raise Unsupported(event.at, "what is written to the batch is no constant")


def _check(questions: Questions, path: Path, event: BatchRead | Zero) -> None:
    """An access lies in the batch, and reads nothing that was made zero; but where the page may
    have been zeroed, what is read is only shown not to be returned."""
    width, size = event.start.width, event.size.constant
    start = event.start.term()
    fits = unsigned_less_equal(start, const(BATCH_BYTES - size, width))
    if not questions.follows(path.facts, fits):
        raise Unsupported(event.at, "an access is not shown to lie within the batch")
    if isinstance(event, Zero) or memory_of(path.machine).disturbed:
        return
    for zero in joined(path.events):
        if isinstance(zero, Zero) and zero.epoch == event.epoch and not apart(zero, event):
            disjoint = disjunction(
                (
                    unsigned_less_equal(add(start, const(size, width)), zero.start.term()),
                    unsigned_less_equal(zero.start.plus(zero.size).term(), start),
                )
            )
            if not questions.follows(path.facts, disjoint):
                raise Unsupported(event.at, "it may read of the batch what it has erased")
