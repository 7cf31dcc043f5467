"""Which properties of getrandom a departure from its specification breaks.

Of a call only what differs first counts, since the rest may follow from it, and what it does at the
end that no caller expects. A property is blamed only for what its own line in docs/getrandom.md
demands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specs.opaque_state import (
    GENERATION_OFFSET,
    IN_USE_OFFSET,
    PADDING_OFFSET,
    POS_OFFSET,
    STATE_BYTES,
    decode,
)
from verify.getrandom.claims import Claim
from verify.history.departure import Difference, Kind, differences
from verify.history.model import Harm
from verify.history.specified import Unanswered, specified

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.history import Done, Made, Program, Step

type Blamed = dict[str, str]
"""By the property that is broken: how, on one line."""

_HARMS = {
    Harm.MEMORY: Claim.FOOTPRINT.value,
    Harm.STACK: Claim.ABI.value,
    Harm.REGISTER: Claim.ABI.value,
    Harm.ERROR: Claim.FALLBACK.value,
    Harm.ENDLESS: Claim.TERMINATION.value,
    Harm.PERSISTENT: Claim.TERMINATION.value,
}
_FIELDS = {
    range(GENERATION_OFFSET): Claim.ERASURE.value,
    range(GENERATION_OFFSET, POS_OFFSET): Claim.GENERATION.value,
    range(POS_OFFSET, IN_USE_OFFSET): Claim.ERASURE.value,
    range(IN_USE_OFFSET, PADDING_OFFSET): Claim.REENTRY.value,
    range(PADDING_OFFSET, STATE_BYTES): Claim.FOOTPRINT.value,
}
"""What says what is at these offsets of the state of a call that has it."""


def blame(program: Program, step: Step, right: Done, done: Done) -> Blamed:
    """The properties that a call has broken, which did `done` and should have done `right`.

    `step` has the state that it met.
    """
    judge = _Judge(program, step, right, done)
    found: Blamed = {}
    for difference in _counting(differences(right, done)):
        for name in judge.broken(difference):
            found.setdefault(name, difference.text)
    return found


def _counting(found: Iterable[Difference]) -> Iterator[Difference]:
    """The first that is no breach, and if it shows at the end, all breaches; that it makes system
    call after system call always, since no answer ends it whatever it did before."""
    first: Difference | None = None
    for difference in found:
        if difference.breach is not None:
            persistent = difference.breach.harm is Harm.PERSISTENT
            if persistent or first is None or first.at is None:
                yield difference
        elif first is None:
            first = difference
            yield difference


class _Judge:
    def __init__(self, program: Program, step: Step, right: Done, done: Done) -> None:
        self._step, self._right, self._done = step, right, done
        call = step.call
        largest = (1 << program.architecture.bits) - 1
        self._query = (call.opaque_len, call.buffer, call.len, call.flags) == (largest, 0, 0, 0)
        self._in_use = _is_stopped_by_in_use(program, step, right)
        # Whether the call gets as far as to set in_use, where it is clear.
        self._takes = self._in_use or self._served or _asks_for_key(step, right)

    @property
    def _served(self) -> bool:
        result = self._right.result
        return not self._right.made and result is not None and result > 0

    def broken(self, difference: Difference) -> Iterator[str]:
        """The properties that say otherwise of what differs."""
        harm = None if difference.breach is None else difference.breach.harm
        if harm in _HARMS:
            yield _HARMS[harm]
        elif harm is Harm.INCONCLUSIVE:
            return
        elif self._query:
            yield Claim.PARAMS.value
        else:
            yield from self._of_call(difference)
            if self._in_use and self._done.state != self._step.state:
                yield Claim.REENTRY.value

    def _of_call(self, difference: Difference) -> Iterator[str]:
        """Those of a call that is not the query."""
        match difference.kind:
            case Kind.SYSTEM_CALL | Kind.COUNT:
                assert difference.at is not None
                yield Claim.FALLBACK.value
                if self._takes and not self._in_use and self._follows_wrongly(difference.at):
                    yield Claim.GENERATION.value
            case Kind.STATE:
                for places, name in _FIELDS.items():
                    if not difference.offsets.isdisjoint(places):
                        yield (
                            name
                            if self._takes or name == Claim.FOOTPRINT.value
                            else Claim.REENTRY.value
                        )
            case Kind.RESULT:
                yield self._of_result()
            case Kind.BREACH:
                more = len(self._right.made) > len(self._done.made)
                yield Claim.FALLBACK.value if more else self._of_result()
            case Kind.BUFFER:
                yield Claim.STREAM.value

    def _of_result(self) -> str:
        """The property that says what is returned."""
        last = self._right.made[-1] if self._right.made else None
        falls_back = last is not None and not _is_key(self._step, last)
        serves = self._takes and not falls_back
        return Claim.STREAM.value if serves else Claim.FALLBACK.value

    def _follows_wrongly(self, number: int) -> bool:
        """Whether the generation is at fault where the system call of that number is another one,
        or none: another attempt is made where there should be none, bytes are given for which a
        key should have been asked for, or it is not noticed that none has come."""
        wanted, made = (
            one.made[number] if number < len(one.made) else None
            for one in (self._right, self._done)
        )
        if wanted is None or made is not None:
            return wanted is not None and _is_key(self._step, made) > _is_key(self._step, wanted)
        if _is_key(self._step, wanted):
            return self._done.result is not None and self._done.result > 0
        kept = slice(GENERATION_OFFSET, POS_OFFSET)
        return wanted.state[kept] != self._done.state[kept]


def _is_key(step: Step, made: Made | None) -> bool:
    """Whether a system call is to write into the state of the call that makes it."""
    return made is not None and 0 <= made.call.buffer - step.call.opaque_state < STATE_BYTES


def _asks_for_key(step: Step, right: Done) -> bool:
    return any(_is_key(step, made) for made in right.made)


def _is_stopped_by_in_use(program: Program, step: Step, right: Done) -> bool:
    """Whether a call falls back because it finds in_use set."""
    assert step.state is not None
    if not decode(step.state, program.port.byte_order).in_use:
        return False
    free = step.state[:IN_USE_OFFSET] + bytes(1) + step.state[PADDING_OFFSET:]
    try:
        (other,) = specified(program, (replace(step, state=free),))
    except Unanswered:
        return True
    return (other.result, other.made) != (right.result, right.made)
