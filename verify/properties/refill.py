"""The call with which getrandom() refills its state: its key lies in the memory that it writes.

There are two blocks and the key is at dst + 96, so that a pass at the first block can overwrite it
(from byte 96 on), and the pass at the second block does (from byte 32 on). It is the only call in
which regions overlap. Its output is ChaCha20's if no byte of the key is read after it was
overwritten; that is claimed of every segment, whichever of the two blocks it is at.
"""

from __future__ import annotations

from collections.abc import Iterable

from specs.contract import BLOCK_BYTES, KEY_WORDS, REFILL_BLOCKS, REFILL_KEY_OFFSET
from verify.lift.memory import Access
from verify.prove.obligation import Obligation
from verify.prove.segments import Segment, Segments
from verify.terms import FALSE, TRUE

_KEY = frozenset(range(4 * KEY_WORDS))
_FIRST, *_ = _KEY_FROM_BLOCK = tuple(
    REFILL_KEY_OFFSET - BLOCK_BYTES * number for number in range(REFILL_BLOCKS)
)
"""The distance in bytes from the start of each block to the key."""


def _is(access: Access, kind: str, region: str) -> bool:
    return access.kind == kind and access.place is not None and access.place.region == region


def _read(access: Access) -> frozenset[int]:
    """The bytes of the key that a read of it may touch."""
    place = access.place
    assert place is not None
    if not place.index.is_constant:
        return _KEY
    return _KEY & frozenset(range(place.offset, place.offset + access.size))


def _overwritten(access: Access, distances: Iterable[int]) -> frozenset[int]:
    """The bytes of the key that a write to dst destroys if the key is so far from its block."""
    place = access.place
    assert place is not None
    firsts = [place.offset - distance for distance in distances]
    return _KEY & {byte for first in firsts for byte in range(first, first + access.size)}


def overwritten_early(segments: Segments) -> frozenset[int]:
    """The bytes of the key that may be gone when the code turns to the second block."""
    writes = (
        access
        for segment in segments
        if segment.end == "loop"
        for access in segment.accesses
        if _is(access, "write", "dst")
    )
    return frozenset(byte for access in writes for byte in _overwritten(access, (_FIRST,)))


def key_read_in_time(segment: Segment, blocks: int, early: frozenset[int]) -> Obligation:
    """The segment reads no byte of the key after it was overwritten.

    `blocks` is the number of blocks that the segment writes, zero behind the last one; `early` is
    `overwritten_early`.
    """
    if segment.begin == "entry":
        gone, distances = frozenset[int](), _KEY_FROM_BLOCK[:1]
    else:
        gone, distances = (early if blocks else _KEY), _KEY_FROM_BLOCK
    late: list[int] = []
    for access in segment.accesses:
        if _is(access, "write", "dst"):
            gone |= _overwritten(access, distances)
        elif _is(access, "read", "key") and gone & _read(access):
            late.append(access.instruction)
    return Obligation(
        f"output/in-place/{segment.name.replace(' ', '-')}",
        f"{segment.name}: the key, when it lies at dst + {REFILL_KEY_OFFSET}, is not read after "
        "it was overwritten",
        segment.assumptions,
        FALSE if late else TRUE,
        tuple(late),
    )
