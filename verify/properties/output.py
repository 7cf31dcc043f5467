"""`output`: the bytes at dst are ChaCha20's.

For every i < nblocks and j < 16 the four bytes at dst + 64 i + 4 j are word j of
block(key, counter + i mod 2^64), little-endian. Each pass through the block loop writes the block
at hand completely and nothing before it; it leaves the loop after nblocks passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from specs.contract import BLOCK_BYTES
from verify.lift.memory import Access
from verify.properties.model import Property, Stated, merged, unknown_memory
from verify.properties.refill import key_read_in_time, overwritten_early
from verify.prove.correspondence import (
    Correspondence,
    Pair,
    SpecificationWords,
    Specified,
    correspond,
    match,
    shape,
    specified_block,
)
from verify.prove.obligation import Obligation
from verify.prove.segments import Segment, Segments
from verify.prove.setting import high_word, low_word
from verify.terms import (
    FALSE,
    TRUE,
    Linear,
    Term,
    add,
    binary,
    conjunction,
    const,
    equal,
    linear,
    reverse_bytes,
)

_WORD = 4


def block_start(segments: Segments, segment: Segment) -> Linear:
    """The distance in bytes from dst to the block at hand, as an index without constant."""
    bits = segments.names.pointer_bits
    return linear(binary("bvmul", segment.done, const(BLOCK_BYTES, bits)))


def _dst_writes(segment: Segment) -> list[Access]:
    return [
        access
        for access in segment.accesses
        if access.kind == "write" and access.place and access.place.region == "dst"
    ]


def written_words(segments: Segments, segment: Segment) -> tuple[Term, ...]:
    """The 16 words of the block at hand, as the contract reads them: little-endian."""
    cells = segment.machine.memory.region("dst", block_start(segments, segment))
    machine = segment.machine
    words = (
        machine.converter.term(cells.read(offset, _WORD)) for offset in range(0, BLOCK_BYTES, _WORD)
    )
    return tuple(word if machine.little else reverse_bytes(word) for word in words)


def _passes(segments: Segments, segment: Segment, blocks: int) -> Obligation:
    """The segment leaves the function only when all blocks are done."""
    bits = segments.names.pointer_bits
    done = add(segment.done, const(blocks, bits))
    return Obligation(
        f"output/all-blocks/{segment.name.replace(' ', '-')}",
        f"{segment.name}: the function returns only when nblocks blocks are written",
        segment.assumptions,
        equal(done, segments.names.nblocks),
        (segment.machine.instruction,),
    )


def _window(segments: Segments, segment: Segment) -> Obligation:
    """No write to dst in front of the block at hand."""
    start = block_start(segments, segment)
    outside = [
        access
        for access in _dst_writes(segment)
        if access.place and (access.place.index != start or access.place.offset < 0)
    ]
    return Obligation(
        f"output/earlier-blocks/{segment.name.replace(' ', '-')}",
        f"{segment.name}: no write to dst in front of the block at hand",
        segment.assumptions,
        FALSE if outside else TRUE,
        tuple(access.instruction for access in outside or _dst_writes(segment)),
    )


def _specified(segments: Segments, segment: Segment) -> Specified:
    count = segment.block_count
    return specified_block(segments.names.key, low_word(count), high_word(count))


def _written(segment: Segment) -> set[Term]:
    """What the code wrote to a register or to memory."""
    written = {write.value for write in segment.machine.register_writes}
    return written | {access.value for access in segment.accesses}


def matched_words(
    segments: Segments, segment: Segment
) -> tuple[Mapping[Term, Mapping[int, Term]], Sequence[Term]]:
    """The terms of the code that hold words of the specification, each after those below it, with
    the words by their lowest bit in the term; and all words that operations of the specification
    make, in order. Both empty where no block is written."""
    if not _is_judged(segment):
        return {}, ()
    specified = _specified(segments, segment)
    actual = written_words(segments, segment)
    return match(actual, _written(segment), specified), tuple(specified.made)


def origins(segment: Segment) -> dict[Term, int]:
    """The instruction that first wrote each term."""
    origin: dict[Term, int] = {}
    for write in segment.machine.register_writes:
        origin.setdefault(write.value, write.instruction)
    for access in segment.accesses:
        origin.setdefault(access.value, access.instruction)
    return origin


def _blocks_of(segment: Segment) -> int:
    """How many blocks the segment finishes: one if it writes to dst at all or goes round."""
    return 1 if segment.end == "loop" or _dst_writes(segment) else 0


def _is_judged(segment: Segment) -> bool:
    """Whether the segment finishes a block, which then is compared with the specification."""
    enters = segment.begin == "entry" and segment.end == "loop"
    return _blocks_of(segment) > 0 and segment.end != "never" and not enters


@dataclass(frozen=True)
class Compared:
    """A segment that finishes a block, the specification of the block, and how the two
    correspond. `obligations` is the id of the obligation that states each pair."""

    segment: Segment
    specified: Specified
    found: Correspondence
    obligations: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """All segments that finish a block, and the obligations on the words; paths that part after
    the block is written have the same words and are compared once."""

    compared: tuple[Compared, ...]
    obligations: tuple[Obligation, ...]


@lru_cache(maxsize=2)
def comparison(segments: Segments) -> Comparison:
    """The code compared with the specification, word by word."""
    known: dict[object, Obligation] = {}
    done: set[tuple[Term, ...]] = set()
    compared = []
    for segment in filter(_is_judged, segments):
        words = (*written_words(segments, segment), segment.block_count)
        if words in done:
            continue
        done.add(words)
        origin = origins(segment)
        specified = _specified(segments, segment)
        found = correspond(words[:-1], _written(segment), specified)
        ids = tuple(_state_pair(pair, origin.get(pair.term), known) for pair in found.pairs)
        compared.append(Compared(segment, specified, found, ids))
    return Comparison(tuple(compared), tuple(known.values()))


def _state_pair(pair: Pair, address: int | None, known: dict[object, Obligation]) -> str:
    """Add the obligation of a pair to those known, once for each formula; its id."""
    key = (pair.kind, shape(pair.formula))
    old = known.get(key)
    here = (address,) if address is not None else ()
    if old is None:
        claim = _CLAIM.get(pair.kind, pair.kind)
        known[key] = Obligation(
            f"output/word{len(known)}",
            f"{claim} equals the specification's, given equal operands",
            (),
            pair.formula,
            here,
        )
    else:
        addresses = tuple(dict.fromkeys((*old.instructions, *here)))
        known[key] = replace(old, instances=old.instances + 1, instructions=addresses)
    return known[key].id


def _segment(segments: Segments, segment: Segment, early: frozenset[int]) -> Stated:
    blocks = _blocks_of(segment)
    found = [_window(segments, segment), key_read_in_time(segment, blocks, early)]
    if segment.end == "exit":
        found.append(_passes(segments, segment, blocks))
    return Stated(tuple(found))


_CLAIM = {
    "output": "an output word",
    "sum": "a sum",
    "exclusive or": "an exclusive or",
}


def state(segments: Segments) -> Stated:
    """The obligations of `output`, see the module."""
    early = overwritten_early(segments)
    parts = [_segment(segments, segment, early) for segment in segments]
    words = Stated(comparison(segments).obligations, unknown_memory(segments))
    return merged([*parts, words])


OUTPUT = Property("output", "dst holds ChaCha20's key stream, for every number of blocks", state)

__all__ = ["OUTPUT", "SpecificationWords", "block_start", "conjunction", "written_words"]
