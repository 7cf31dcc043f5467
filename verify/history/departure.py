"""Where an execution departs from the specification."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.history.model import Breach, Done, Made


class Kind(Enum):
    """What differs."""

    SYSTEM_CALL = "a system call"
    STATE = "the state"
    COUNT = "how many system calls are made"
    BREACH = "what a caller may not expect"
    RESULT = "the result"
    BUFFER = "the buffer"


@dataclass(frozen=True)
class Difference:
    """One thing that a call does otherwise than the specification, with one line of text.

    `at` is the number of the system call at which it shows, of the first that one makes and the
    other does not for a COUNT; None where it shows at the end. `offsets` are those of the bytes of
    the state that differ.
    """

    kind: Kind
    text: str
    at: int | None = None
    offsets: frozenset[int] = frozenset()
    breach: Breach | None = None


def differences(right: Done, done: Done) -> Iterator[Difference]:
    """All that a call did otherwise than it should have, in the order in which it shows.

    Of a call that did not return, what it has not done is left out.
    """
    returned = done.result is not None
    pairs = list(zip(right.made, done.made, strict=False))
    for number, (wanted, made) in enumerate(pairs):
        if wanted.number != made.number or wanted.call != made.call:
            text = f"system call {number} is {_shown(made)} instead of {_shown(wanted)}"
            yield Difference(Kind.SYSTEM_CALL, text, number)
        if wanted.state != made.state:
            text = f"at system call {number} the state differs {_where(wanted.state, made.state)}"
            yield _of_state(wanted.state, made.state, text, number)
    if len(right.made) < len(done.made) or (returned and len(right.made) > len(done.made)):
        text = f"it makes {len(done.made)} system calls instead of {len(right.made)}"
        yield Difference(Kind.COUNT, text, len(pairs))
    for breach in done.breaches:
        yield Difference(Kind.BREACH, breach.text, breach=breach)
    if not returned:
        return
    if right.result != done.result:
        yield Difference(Kind.RESULT, f"it returns {done.result} instead of {right.result}")
    if right.buffer != done.buffer:
        yield Difference(Kind.BUFFER, f"the buffer differs {_where(right.buffer, done.buffer)}")
    if right.state != done.state:
        text = f"the state differs afterwards {_where(right.state, done.state)}"
        yield _of_state(right.state, done.state, text, None)


def first_departure(
    expected: Sequence[Done], actual: Sequence[Done]
) -> tuple[int, list[Difference]] | None:
    """The number of the first call that does otherwise than the specification, and all that is
    different in it; None where there is no such call."""
    for number, (right, done) in enumerate(zip(expected, actual, strict=False)):
        if found := list(differences(right, done)):
            return number, found
    return None


def departure(expected: Sequence[Done], actual: Sequence[Done]) -> str:
    """The first thing that an execution does otherwise than the specification, on one line; empty
    where it does the same."""
    if (found := first_departure(expected, actual)) is not None:
        number, (first, *_) = found
        return f"call {number}: {first.text}"
    if len(actual) != len(expected):
        return f"{len(actual)} calls instead of {len(expected)}"
    return ""


def _of_state(wanted: bytes, found: bytes, text: str, at: int | None) -> Difference:
    return Difference(Kind.STATE, text, at, frozenset(_offsets(wanted, found)))


def _shown(made: Made) -> str:
    call = made.call
    return f"{made.number}({call.buffer:#x}, {call.len}, {call.flags:#x})"


def _offsets(wanted: bytes, found: bytes) -> Iterator[int]:
    pairs = zip(wanted, found, strict=True)
    return (offset for offset, (one, other) in enumerate(pairs) if one != other)


def _where(wanted: bytes, found: bytes) -> str:
    at = next(_offsets(wanted, found))
    return f"at {at}: {found[at]:#04x} instead of {wanted[at]:#04x}"
