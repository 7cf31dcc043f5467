"""`counter`: at return the two words at counter are counter + nblocks modulo 2^64."""

from __future__ import annotations

from verify.lift.memory import Access
from verify.properties.model import Property, Stated, unknown_memory
from verify.prove.obligation import Obligation
from verify.prove.segments import Segments
from verify.prove.setting import COUNTER_BITS, high_word, low_word
from verify.terms import Linear, add, equal, zero_extend


def state(segments: Segments) -> Stated:
    """One obligation for each of the two words at each exit."""
    names = segments.names
    steps = zero_extend(names.nblocks, COUNTER_BITS - names.pointer_bits)
    final = add(names.count, steps)
    found: list[Obligation] = []
    for number, segment in enumerate(segments.exits):
        machine = segment.machine
        cells = machine.memory.region("counter", Linear(names.pointer_bits, 0))
        for offset, title, word in ((0, "low", low_word), (4, "high", high_word)):
            found.append(
                Obligation(
                    f"counter/{title}/exit{number}",
                    f"the {title} word at counter is that of counter + nblocks mod 2^64",
                    segment.assumptions,
                    equal(machine.converter.term(cells.read(offset, 4)), word(final)),
                    _writers(segment.accesses, offset),
                )
            )
    return Stated(tuple(found), unknown_memory(segments))


def _writers(accesses: tuple[Access, ...], offset: int) -> tuple[int, ...]:
    return tuple(
        access.instruction
        for access in accesses
        if access.kind == "write"
        and access.place is not None
        and access.place.region == "counter"
        and access.place.offset < offset + 4
        and offset < access.place.offset + access.size
    )


COUNTER = Property("counter", "the counter in memory has advanced by nblocks", state)
