"""What the values between the words of the specification are computed for."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from specs.contract import BLOCK_BYTES
from verify.anatomy import Part
from verify.annotate.words import Words, inside
from verify.lift.memory import CODE, Access
from verify.properties.output import block_start
from verify.prove.invariants import read
from verify.prove.segments import Segment, Segments
from verify.terms import Linear, Term

_WORD = 4


class Feeding:
    """Terms that hold no word of the specification, and what they are there for.

    `steps` are the words of the specification that a term is computed for, `others` the roles of
    what writes a term: bytes put in order for the output, the counter, conditions of branches.
    `deciding` are the branches that end a pass through a loop.
    """

    def __init__(
        self, segments: Segments, words: Words, stores: Stores, deciding: Collection[int]
    ) -> None:
        self._words = words
        self.steps: dict[Term, set[Term]] = {}
        self.others: dict[Term, list[tuple[Part, str, tuple[int, ...]]]] = {}
        for term in words.matched:
            held = words.held(term)
            for below in inside(term.args, words.matched) if held else ():
                self.steps.setdefault(below, set()).update(held)
        seen: set[int] = set()
        for segment in segments:
            for access in segment.accesses:
                if access.kind == "write" and id(access) not in seen:
                    seen.add(id(access))
                    self._store(stores, access)
            self._counters(segments, segment)
            self._branches(segment, deciding)

    def _add(self, roots: Iterable[Term], part: Part, what: str, words: Iterable[int] = ()) -> None:
        role = (part, what, tuple(words))
        for term in inside(roots, self._words.matched):
            known = self.others.setdefault(term, [])
            if role not in known:
                known.append(role)

    def _store(self, stores: Stores, access: Access) -> None:
        if access.place is None:
            return
        if access.place.region == "counter":
            self._add([access.value], Part.COUNTER, "")
        numbers = stores.output_words(access)
        if numbers and self._words.outputs.issuperset(numbers):
            self._add([access.value], Part.OUTPUT, "", numbers)

    def _counters(self, segments: Segments, segment: Segment) -> None:
        if segment.end == "loop" and segments.loop is not None:
            self._add(
                [
                    read(segment.machine, invariant.location)
                    for invariant in segments.loop.invariants
                    if invariant.kind == "counter"
                ],
                Part.COUNTER,
                "",
            )

    def _branches(self, segment: Segment, deciding: Collection[int]) -> None:
        machine = segment.machine
        for guard, branch in zip(machine.guards, machine.branches, strict=True):
            part = Part.LOOP if branch in deciding else Part.BRANCH
            self._add([machine.converter.term(guard)], part, f"for the branch at {branch:#x}")


class Stores:
    """The stores whose bytes no later store of a segment overwrites: what is proved of memory at
    the ends of segments is proved of what they write."""

    def __init__(self, segments: Segments) -> None:
        self._starts: dict[int, Linear] = {}
        self._overwritten: set[int] = set()
        for segment in segments:
            start = block_start(segments, segment)
            last: dict[tuple[str, Linear, int], Access] = {}
            for access in segment.accesses:
                if access.kind == "write":
                    self._starts[id(access)] = start
                    for place in _bytes(access):
                        if place in last:
                            self._overwritten.add(id(last[place]))
                        last[place] = access

    def remains(self, access: Access) -> bool:
        """Whether all that a store writes is there at the end."""
        return access.place is not None and id(access) not in self._overwritten

    def output_words(self, access: Access) -> tuple[int, ...]:
        """The words of the block at hand of which a store writes what remains; none if it writes
        anything else."""
        place = access.place
        if place is None or place.region != "dst" or not self.remains(access):
            return ()
        first, behind = place.offset, place.offset + access.size
        if place.index != self._starts[id(access)] or not 0 <= first < behind <= BLOCK_BYTES:
            return ()
        return tuple(range(first // _WORD, -(-behind // _WORD)))


def _bytes(access: Access) -> list[tuple[str, Linear, int]]:
    place = access.place
    if place is None:
        return []
    first = place.offset
    return [(place.region, place.index, byte) for byte in range(first, first + access.size)]


def code_reads(segments: Segments) -> frozenset[int]:
    """The addresses of the constants that the function reads."""
    return frozenset(
        access.place.offset
        for segment in segments
        for access in segment.accesses
        if access.place is not None and access.place.region == CODE
    )
