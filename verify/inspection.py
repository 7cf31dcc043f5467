"""What can be said of a function without proving anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.errors import InputError
from verify.lift.select import engine_for
from verify.summary import target_summary
from verify.verdict import TargetSummary, VariantSummary

if TYPE_CHECKING:
    from verify.prove.cfg import ControlFlow
    from verify.target import Target


@dataclass(frozen=True)
class LoopShape:
    """A natural loop: the addresses of its head and of its last instruction, the number of its
    instructions, and how many loops it lies in, itself included."""

    head: int
    last: int
    instructions: int
    depth: int


@dataclass(frozen=True)
class Instruction:
    """One instruction: address, bytes in the order of the file in hexadecimal, text."""

    address: int
    code: str
    text: str


@dataclass(frozen=True)
class Inspection:
    """A function as in the file with its loops, outer before inner, and its disassembly.

    `variants` are what the kernel can make of it; none where that is not known, and `unknown` says
    why.
    """

    target: TargetSummary
    loops: tuple[LoopShape, ...]
    instructions: tuple[Instruction, ...]
    variants: tuple[VariantSummary, ...]
    unknown: str = ""


def inspect(target: Target) -> Inspection:
    """Read the code of a target; raises InputError where it cannot be decoded."""
    engine = engine_for(target.architecture, target.code)
    from verify.lift.machine import Unsupported
    from verify.prove.cfg import control_flow

    function = target.function
    try:
        flow = control_flow(engine, function.address)
    except Unsupported as error:
        raise InputError(target.source, f"the function cannot be read; {error}") from None
    variants, unknown = _variants(target)
    listing = engine.disassemble(function.address, function.size)
    ends = [*(address for address, _ in listing[1:]), function.address + function.size]
    return Inspection(
        target_summary(target, None),
        _shapes(flow),
        tuple(
            Instruction(address, (target.code(address, end - address) or b"").hex(), text)
            for (address, text), end in zip(listing, ends, strict=True)
        ),
        variants,
        unknown,
    )


def _variants(target: Target) -> tuple[tuple[VariantSummary, ...], str]:
    """What the kernel can make of the function, or why that is not known."""
    from verify.combine import variant_summary
    from verify.lift.machine import Unsupported
    from verify.variants import variants_of

    unknown = target.unusable or target.patching_unknown
    if unknown:
        return (), unknown
    try:
        found = variants_of(target)
    except Unsupported as error:
        return (), str(error)
    size = target.function.size
    return tuple(variant_summary(target, variant, size) for variant in found), ""


def _shapes(flow: ControlFlow) -> tuple[LoopShape, ...]:
    shapes = [
        LoopShape(
            head=loop.head,
            last=max(flow.blocks[block].instructions[-1] for block in loop.blocks),
            instructions=sum(len(flow.blocks[block].instructions) for block in loop.blocks),
            depth=sum(loop.blocks <= other.blocks for other in flow.loops),
        )
        for loop in flow.loops
    ]
    return tuple(sorted(shapes, key=lambda shape: (shape.head, shape.depth)))
