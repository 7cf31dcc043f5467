"""Accesses to the two words of a generation, as one to the whole.

On a machine of 32 bits a compiler makes two accesses of one to 64. One of the two words is 0 at all
times, the same one (`generation-in-one-word` of `specs.getrandom_contract`), in the state as well,
which has only what was read there, or zeros. So what is found is what the generation was when the
other word was accessed, whatever happens between the two.
"""

from __future__ import annotations

from verify.getrandom.walk.events import Event, Field, FieldRead, FieldWrite, PageRead
from verify.terms import Term, concat

WORD_BYTES = 4
_OFFSETS = {Field.FIRST_WORD: 0, Field.SECOND_WORD: WORD_BYTES}


def whole(first: Event, second: Event, little: bool) -> Event | None:
    """One access in place of two, one behind the other, to the words of a generation; None where
    they are anything else."""
    if isinstance(first, PageRead) and isinstance(second, PageRead):
        if first.offset is None or {first.offset, second.offset} != {0, WORD_BYTES}:
            return None
        if not first.size == second.size == WORD_BYTES:
            return None
        address = min(first.address, second.address)
        value = _value(first.offset, first.value, second.value, little)
        return PageRead(first.at, address, 2 * WORD_BYTES, value, 0)
    for kind in (FieldRead, FieldWrite):
        if isinstance(first, kind) and isinstance(second, kind):
            if {first.field, second.field} != _OFFSETS.keys():
                return None
            value = _value(_OFFSETS[first.field], first.value, second.value, little)
            return kind(first.at, Field.GENERATION, value)
    return None


def _value(offset: int, first: Term, second: Term, little: bool) -> Term:
    """The value of two words of which the one that was accessed first lies at that offset."""
    upper_first = (offset % (2 * WORD_BYTES) == 0) is not little
    return concat(first, second) if upper_first else concat(second, first)
