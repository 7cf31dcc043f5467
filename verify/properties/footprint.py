"""`footprint`: which memory the function touches.

Every write lies in dst, in counter, or in the function's own part of the stack (its frame, the
ABI's red zone, and the slots of the caller's frame that the ABI gives it); every read in key,
counter, that part of the stack, or read-only code and constants. Reads of dst are inside the
memory that the caller gave, and are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specs.contract import BLOCK_BYTES, REGIONS
from verify.lift.memory import CODE, STACK, Access
from verify.lift.select import engine_for
from verify.properties.model import Property, Stated, merged
from verify.prove.obligation import AccessProbe, Obligation, Probe, StackWriteProbe
from verify.prove.segments import Segment, Segments, segments_of
from verify.prove.stack import stack_offsets
from verify.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    binary,
    conjunction,
    const,
    disjunction,
    subtract,
    unsigned_less_equal,
)

_SIZES = {region.name: region.size for region in REGIONS}


def own_stack(segments: Segments, pointer: int, offset: int, size: int) -> bool:
    """Whether bytes at `offset` from the entry stack pointer belong to the function, when the
    stack pointer is `pointer` bytes from there."""
    architecture = segments.target.architecture
    if pointer - architecture.red_zone <= offset and offset + size <= 0:
        return True
    return any(
        start <= offset and offset + size <= start + length
        for start, length in architecture.linkage_area
    )


def _inside(distance: Term, size: int, region: Term) -> Term:
    """distance .. distance + size - 1 lies in 0 .. region - 1, without wrapping."""
    bits = distance.width
    last = subtract(region, const(size, bits))
    return conjunction(
        (
            unsigned_less_equal(const(size, bits), region),
            unsigned_less_equal(distance, last),
        )
    )


def _region_size(segments: Segments, region: str) -> Term:
    bits = segments.names.pointer_bits
    size = _SIZES[region]
    if size is None:
        return binary("bvmul", segments.names.nblocks, const(BLOCK_BYTES, bits))
    return const(size, bits)


def _allowed(segments: Segments, segment: Segment) -> Callable[[Access], Term]:
    """The formula that says that an access lies where the contract allows it."""
    pointer_at = stack_offsets(segments, segment)
    bits = segments.names.pointer_bits

    def formula(access: Access) -> Term:
        place = access.place
        if place is None:
            return _anywhere(segments, access)
        if place.region == CODE:
            readable = segments.target.code(place.offset, access.size) is not None
            return TRUE if access.kind == "read" and readable else FALSE
        if place.region == STACK:
            pointer = pointer_at(access)
            if pointer is None or not place.index.is_constant:
                return FALSE
            return TRUE if own_stack(segments, pointer, place.offset, access.size) else FALSE
        if place.region == "key" and access.kind == "write":
            return FALSE
        distance = add(place.index.term(), const(place.offset, bits))
        return _inside(distance, access.size, _region_size(segments, place.region))

    return formula


def _anywhere(segments: Segments, access: Access) -> Term:
    """That an address which belongs to no single region still lies in one that is allowed.

    For a read, read-only segments of the image and the contract's regions; for a write, dst and
    counter.
    """
    bits = segments.names.pointer_bits
    names = [r.name for r in REGIONS if access.kind == "read" or r.writable]
    choices = [
        _inside(
            subtract(access.address, segments.names.address(name)),
            access.size,
            _region_size(segments, name),
        )
        for name in names
    ]
    if access.kind == "read":
        choices += [
            _inside(
                subtract(access.address, const(part.address, bits)),
                access.size,
                const(len(part.data), bits),
            )
            for part in segments.target.segments
        ]
    return disjunction(choices)


def _segment(segments: Segments, segment: Segment) -> Stated:
    allowed = _allowed(segments, segment)
    groups: dict[tuple[str, str], list[Access]] = {}
    for access in segment.accesses:
        region = access.place.region if access.place else "elsewhere"
        groups.setdefault((access.kind, region), []).append(access)
    found = []
    for (kind, region), accesses in groups.items():
        formulas: dict[Term, list[int]] = {}
        for access in accesses:
            formulas.setdefault(allowed(access), []).append(access.instruction)
        failing = formulas.get(FALSE, [])
        found.append(
            Obligation(
                f"footprint/{kind}/{region}/{segment.name.replace(' ', '-')}",
                f"{segment.name}: all {len(accesses)} {kind}s of {region} lie where the "
                "contract allows",
                segment.assumptions,
                conjunction(formulas),
                tuple(dict.fromkeys(failing or [a.instruction for a in accesses])),
                probes=tuple(_probes(accesses)),
            )
        )
    reads = groups.get(("read", "dst"), [])
    findings = tuple(f"{access.instruction:#x} reads dst" for access in reads)
    return Stated(tuple(found), (), findings)


def _probes(accesses: list[Access]) -> Iterator[Probe]:
    """What shows an access outside of its region: stores to the stack at their instruction, the
    bytes next to the other regions by themselves."""
    for access in accesses:
        place = access.place
        if place is None:
            continue
        if place.region == STACK and access.kind == "write":
            yield StackWriteProbe(access.instruction, place.offset, access.size)
        size = _SIZES.get(place.region, BLOCK_BYTES) or BLOCK_BYTES
        last = place.offset + access.size - 1
        if place.region in _SIZES and not 0 <= place.offset <= last < size:
            yield AccessProbe(place.region, place.offset if place.offset < 0 else last)


_MOVED_BY = {32: 0x1234_0000, 64: 0x1234_5678_9ABC_0000}
"""Bytes by which the image is moved to see that its addresses move with it, by the width of a
pointer: none of 32 bits holds an address in the image then."""


def _code_reads(segments: Segments, moved_by: int) -> frozenset[tuple[int, int]]:
    """(instruction, address) of every read of the image's own bytes, moved back."""
    return frozenset(
        (access.instruction - moved_by, access.place.offset - moved_by)
        for segment in segments
        for access in segment.accesses
        if access.place is not None and access.place.region == CODE
    )


def _position_independent(segments: Segments) -> Stated:
    """A constant address is one in the image only if it moves when the image does: the kernel maps
    a vDSO anywhere, and what lies at an absolute address is not part of it."""
    reads = _code_reads(segments, 0)
    if not reads:
        return Stated(())
    by = _MOVED_BY[segments.target.architecture.bits]
    moved = segments.target.moved(by)
    engine = engine_for(moved.architecture, moved.code)
    still = _code_reads(segments_of(moved, engine), by)
    absolute = sorted(instruction for instruction, _ in reads ^ still)
    return Stated(
        (
            Obligation(
                "footprint/read/code/position-independent",
                "every address of code and constants is relative to where the image is mapped",
                (),
                FALSE if absolute else TRUE,
                tuple(dict.fromkeys(absolute)),
            ),
        )
    )


def state(segments: Segments) -> Stated:
    """One obligation per segment, kind of access and region, and one on constant addresses."""
    parts = [_segment(segments, segment) for segment in segments]
    return merged([*parts, _position_independent(segments)])


FOOTPRINT = Property("footprint", "reads and writes only what the contract names", state)
