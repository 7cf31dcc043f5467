"""The memory that a function may use, and what each instruction does there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specs.contract import BLOCK_BYTES, REGIONS
from verify.anatomy import MemoryAccess, MemoryRegion
from verify.annotate.feeding import Stores
from verify.annotate.values import in_words
from verify.annotate.words import Words
from verify.lift.memory import STACK, Access
from verify.properties.stack import describe
from verify.prove.secrets import secret_terms, secret_variables
from verify.prove.segments import Segment, Segments
from verify.prove.stack import lowest_pointer
from verify.terms import Term

_COUNTER_BYTES = 8


def regions_of(segments: Segments) -> tuple[MemoryRegion, ...]:
    """The regions of the contract, and the part of the stack that the function may use."""
    architecture = segments.target.architecture
    frame = lowest_pointer(segments)
    slots = max((at + size for at, size in architecture.linkage_area), default=0)
    contract = (
        MemoryRegion(one.name, 0, one.size or BLOCK_BYTES, one.readable, one.writable, one.secret)
        for one in REGIONS
    )
    first = (frame or 0) - architecture.red_zone
    return (*contract, MemoryRegion(STACK, first, slots, True, True, False))


def accesses_of(
    segments: Segments, words: Words, stores: Stores
) -> Mapping[int, tuple[MemoryAccess, ...]]:
    """The loads and stores of each instruction, each once."""
    seen: set[int] = set()
    found: dict[int, dict[MemoryAccess, None]] = {}
    secret = secret_variables(segments)
    stored = [a.value for segment in segments for a in segment.accesses if a.kind == "write"]
    dirty = secret_terms(stored, secret)
    for segment in segments:
        for access in segment.accesses:
            if id(access) not in seen:
                seen.add(id(access))
                shown = _access(segments, _Known(segment, stores, words), access, dirty)
                found.setdefault(access.instruction, {})[shown] = None
    return {instruction: tuple(each) for instruction, each in found.items()}


@dataclass(frozen=True)
class _Known:
    segment: Segment
    stores: Stores
    words: Words


def _access(segments: Segments, known: _Known, access: Access, dirty: set[Term]) -> MemoryAccess:
    written = access.kind == "write"
    is_secret = written and access.value in dirty
    place = access.place
    if place is None:
        return MemoryAccess(access.kind, "", None, 0, access.size, "", is_secret)
    index = segments.names.index
    fixed = place.index.without(index).is_constant
    return MemoryAccess(
        access.kind,
        place.region,
        place.offset if fixed else None,
        place.index.coefficients.get(index, 0) if fixed else 0,
        access.size,
        _holds(segments, known, access) if written else "",
        is_secret,
    )


def _holds(segments: Segments, known: _Known, access: Access) -> str:
    place = access.place
    assert place is not None
    if place.region == "dst":
        numbers = known.stores.output_words(access)
        if not numbers or not known.words.outputs.issuperset(numbers):
            return ""
        last = f" to {numbers[-1]}" if len(numbers) > 1 else ""
        return f"output word{'s' if last else ''} {numbers[0]}{last}"
    if place.region == STACK:
        return describe(segments, access.value, secret_variables(segments))[0]
    if place.region == "counter" and known.words.counter and known.segment.end == "exit":
        inside = place.index.is_constant and 0 <= place.offset <= _COUNTER_BYTES - access.size
        if inside and known.stores.remains(access):
            return "counter + nblocks"
    return in_words(segments, access.value)
