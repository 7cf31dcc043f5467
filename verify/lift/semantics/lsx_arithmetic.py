"""LSX: sums, comparisons, shifts, rotates and logic, lane by lane.

Source: see `lsx_vectors`. Amounts of shifts and rotates are taken modulo the width of the lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.machine import Machine
from verify.lift.semantics import Meaning
from verify.lift.semantics.lsx_vectors import (
    WIDTHS,
    Lanes,
    chosen,
    field,
    from_two,
    join,
    lane_wise,
    lanes_of,
    signed_field,
    sources,
    vector_offset,
)

Compute = Callable[[Any, Any], Any]


def _immediate(width: int, bits: int, compute: Compute, *, signed: bool = False) -> Meaning:
    """Each lane of vd = compute(the lane of vj, the field of so many bits at bit 10)."""
    read = signed_field if signed else field

    def run(machine: Machine, layout: Layout, word: int) -> None:
        (source,) = sources(machine, layout, word, 5)
        operand = claripy.BVV(read(word, 10, bits) % (1 << width), width)
        machine.put(
            vector_offset(layout, word & 31),
            join([compute(a, operand) for a in lanes_of(source, width)]),
        )

    return run


def _mask(compare: Compute) -> Compute:
    """All ones where the comparison holds, zero where it does not."""

    def compute(left: Any, right: Any) -> Any:
        zero = claripy.BVV(0, left.size())
        return claripy.If(compare(left, right), ~zero, zero)

    return compute


def _shift_left(lane: Any, amount: Any) -> Any:
    return lane << (amount & lane.size() - 1)


def _shift_right(lane: Any, amount: Any) -> Any:
    return claripy.LShR(lane, amount & lane.size() - 1)


def _shift_right_signed(lane: Any, amount: Any) -> Any:
    return lane >> (amount & lane.size() - 1)


def _rotate_right(lane: Any, amount: Any) -> Any:
    return claripy.RotateRight(lane, amount & lane.size() - 1)


_SUMS: dict[str, Compute] = {"vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b}
_SIGNED: dict[str, Compute] = {
    "vseq": lambda a, b: a == b,
    "vslt": lambda a, b: a.SLT(b),
    "vsle": lambda a, b: a.SLE(b),
}
_UNSIGNED: dict[str, Compute] = {"vslt": lambda a, b: a.ULT(b), "vsle": lambda a, b: a.ULE(b)}
_SHIFTS: dict[str, Compute] = {
    "vsll": _shift_left,
    "vsrl": _shift_right,
    "vsra": _shift_right_signed,
    "vrotr": _rotate_right,
}
_BITWISE: dict[str, Compute] = {
    "vand": lambda a, b: a & b,
    "vor": lambda a, b: a | b,
    "vxor": lambda a, b: a ^ b,
    "vnor": lambda a, b: ~(a | b),
    "vandn": lambda a, b: ~a & b,
    "vorn": lambda a, b: a | ~b,
}
_IMMEDIATE_BITWISE = ("vand", "vor", "vxor", "vnor")


def _select(machine: Machine, layout: Layout, word: int) -> None:
    """vd = the bits of vk where va has ones, of vj where it has zeros."""
    zero, one, mask = sources(machine, layout, word, 5, 10, 15)
    machine.put(vector_offset(layout, word & 31), zero & ~mask | one & mask)


def _negate(width: int) -> Meaning:
    def run(machine: Machine, layout: Layout, word: int) -> None:
        (source,) = sources(machine, layout, word, 5)
        machine.put(
            vector_offset(layout, word & 31), join([-lane for lane in lanes_of(source, width)])
        )

    return run


def _select_by_old(old: Lanes, zero: Lanes, value: int) -> Lanes:
    """The value's bits where vd had ones, those of vj where it had zeros."""
    one = claripy.BVV(value, 8)
    return [lane & ~mask | one & mask for lane, mask in zip(zero, old, strict=True)]


def _of_a_width(letter: str, width: int) -> Iterator[tuple[str, Meaning]]:
    """The instructions that exist for lanes of each width."""
    amount_bits = width.bit_length() - 1
    for name, compute in _SUMS.items():
        yield f"{name}.{letter}", lane_wise(width, compute)
        yield f"{name}i.{letter}u", _immediate(width, 5, compute)
    yield f"vneg.{letter}", _negate(width)
    for name, shift in _SHIFTS.items():
        yield f"{name}.{letter}", lane_wise(width, shift)
        yield f"{name}i.{letter}", _immediate(width, amount_bits, shift)
    for suffix, unsigned in ((letter, False), (f"{letter}u", True)):
        for name, compare in (_UNSIGNED if unsigned else _SIGNED).items():
            yield f"{name}.{suffix}", lane_wise(width, _mask(compare))
            yield f"{name}i.{suffix}", _immediate(width, 5, _mask(compare), signed=not unsigned)


MEANINGS: dict[str, Meaning] = {
    **{
        name: meaning
        for letter, width in WIDTHS.items()
        for name, meaning in _of_a_width(letter, width)
    },
    **{f"{name}.q": from_two(compute) for name, compute in _SUMS.items()},
    **{f"{name}.v": from_two(compute) for name, compute in _BITWISE.items()},
    **{f"{name}i.b": _immediate(8, 8, _BITWISE[name]) for name in _IMMEDIATE_BITWISE},
    "vbitsel.v": _select,
    "vbitseli.b": chosen(8, 8, _select_by_old),
}
