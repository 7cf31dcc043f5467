"""The variants of a function that may run, and what stands in the way of speaking of its bytes.

Which alternatives matter is decided by control flow: only what changes an instruction that some
variant reaches makes variants. What is not changed is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from verify.lift.machine import Unsupported
from verify.lift.memory import CODE
from verify.lift.select import engine_for
from verify.prove.cfg import control_flow
from verify.target import Variant

if TYPE_CHECKING:
    from verify.lift.engine import Engine
    from verify.prove.segments import Segments
    from verify.target import Alternative, Target

MOST_FEATURES = 4
"""Features whose combinations are all proved: sixteen variants."""
LONGEST_FIELD = 8
"""Bytes that a relocation changes, at most."""
LISTED = 4
"""Features or addresses that a message lists."""


def variants_of(target: Target) -> tuple[Variant, ...]:
    """Every variant of the target's function, that of the fewest features first.

    Raises Unsupported where one cannot be made as the kernel would, or there are too many.
    """
    if not target.alternatives:
        return (Variant(()),)
    touched: frozenset[Alternative] = frozenset()
    while True:
        variants = _combinations(target, touched)
        reached = touched.union(*(_reached(target, variant) for variant in variants))
        if reached == touched:
            return variants
        touched = reached


def _combinations(target: Target, touched: frozenset[Alternative]) -> tuple[Variant, ...]:
    """What the alternatives among `touched` make of the image, for all states of their features."""
    chosen = [one for one in target.alternatives if one in touched]
    for one in chosen:
        if one.refused:
            raise Unsupported(
                one.address, f"the kernel replaces this code ({one.condition}), but {one.refused}"
            )
    features = list(dict.fromkeys(name for one in chosen for name, _ in one.condition.features))
    if len(features) > MOST_FEATURES:
        more = f" and {len(features) - LISTED} more" if len(features) > LISTED else ""
        raise Unsupported(
            target.function.address,
            f"{len(features)} features change the function ({', '.join(features[:LISTED])}{more});"
            f" at most {MOST_FEATURES} are combined",
        )
    states = sorted(product((False, True), repeat=len(features)), key=sum)
    return tuple(
        dict.fromkeys(
            Variant(
                tuple(
                    one
                    for one in chosen
                    if one.condition.holds(dict(zip(features, state, strict=True)))
                )
            )
            for state in states
        )
    )


def _reached(target: Target, variant: Variant) -> Iterator[Alternative]:
    """The alternatives that lie in the control flow of a variant."""
    patched = target.patched(variant)
    try:
        flow = control_flow(engine_for(target.architecture, patched.code), target.function.address)
    except Unsupported:
        # Its proof meets the same instruction, and it is UNKNOWN for that.
        return
    for one in target.alternatives:
        if any(one.overlaps(block.address, block.size) for block in flow.blocks.values()):
            yield one


def unlinked(target: Target, engine: Engine) -> str:
    """Why the bytes of the function are not those that run; empty if nothing says so.

    Raises Unsupported where an instruction cannot be decoded.
    """
    if not target.relocations and not target.stubs:
        return ""
    blocks = control_flow(engine, target.function.address).blocks.values()
    inside = [
        one
        for one in target.relocations
        if any(block.address <= one.address < block.address + block.size for block in blocks)
    ]
    if inside:
        first = inside[0]
        symbol = f" against {first.symbol}" if first.symbol else ""
        plural = "s" if len(inside) > 1 else ""
        return (
            f"{len(inside)} unresolved relocation{plural} in {target.function.name} (the first at"
            f" {first.address:#x}, of type {first.type}{symbol}); link it first"
        )
    for block in blocks:
        stub = stub_at(target, block.address)
        if stub:
            return f"{block.address:#x}: goes on through {stub}"
    return ""


def stub_at(target: Target, address: int) -> str:
    """In words, the linkage stub at an address and what to do about it; empty if there is none."""
    for section in target.stubs:
        if section.address <= address < section.address + section.size:
            return (
                f"a linkage stub in {section.name}, whose destination is filled in later; link what"
                " it stands for into the image"
            )
    return ""


def changed_constants(target: Target, segments: Segments, left: tuple[Alternative, ...]) -> str:
    """Why constants that the function reads need not be what is read when it runs: the kernel may
    change them by an alternative of `left`, or they are not linked. Empty if they are."""
    for segment in segments:
        for access in segment.accesses:
            if access.place is None or access.place.region != CODE:
                continue
            address, size = access.place.offset, access.size
            for one in left:
                if one.overlaps(address, size):
                    return f"reads {address:#x}, which the kernel may change ({one.condition})"
            for relocation in target.relocations:
                if address - LONGEST_FIELD < relocation.address < address + size:
                    return f"reads {address:#x}, which has an unresolved relocation; link it first"
    return ""
