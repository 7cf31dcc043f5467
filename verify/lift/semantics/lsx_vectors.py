"""LSX, LoongArch's vectors of 128 bits: registers, lanes, and the fields of instructions.

Source of what each instruction does, under its name: "Unofficial LoongArch Intrinsics Guide"
(jia.je), which gives it as measured on processors. The volume of LoongArch's manual that is to
define the vector extensions (Volume 2) has not been published in English.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.machine import Machine
from verify.lift.semantics import Meaning

VECTOR_BITS = 128
VECTOR_BYTES = VECTOR_BITS // 8
WIDTHS = {"b": 8, "h": 16, "w": 32, "d": 64}

Lanes = list[Any]
"""The lanes of a vector, the least significant first."""


def lanes_of(value: Any, width: int) -> Lanes:
    """The lanes of so many bits of a value."""
    return [value[low + width - 1 : low] for low in range(0, value.size(), width)]


def join(lanes: Lanes) -> Any:
    """The value with these lanes."""
    return claripy.Concat(*reversed(lanes)) if len(lanes) > 1 else lanes[0]


def vector_offset(layout: Layout, number: int) -> int:
    """Where the lifter keeps a vector register."""
    return layout.registers[f"v{number}"][0]


def read_vector(machine: Machine, layout: Layout, number: int) -> Any:
    """A vector register's 128 bits."""
    return machine.get(vector_offset(layout, number), VECTOR_BYTES)


def sources(machine: Machine, layout: Layout, word: int, *places: int) -> list[Any]:
    """The vector registers that the fields at these bits name."""
    return [read_vector(machine, layout, word >> place & 31) for place in places]


def field(word: int, low: int, bits: int) -> int:
    """The unsigned field of so many bits from bit `low` on."""
    return word >> low & (1 << bits) - 1


def signed_field(word: int, low: int, bits: int) -> int:
    """The signed field of so many bits from bit `low` on."""
    value = field(word, low, bits)
    return value - (value >> (bits - 1) << bits)


def from_two(compute: Callable[[Any, Any], Any]) -> Meaning:
    """vd = compute(vj, vk)."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        left, right = sources(machine, layout, word, 5, 10)
        machine.put(vector_offset(layout, word & 31), compute(left, right))

    return run


def lane_wise(width: int, compute: Callable[[Any, Any], Any]) -> Meaning:
    """Each lane of vd = compute(the lanes of vj and vk)."""

    def run(left: Any, right: Any) -> Any:
        pairs = zip(lanes_of(left, width), lanes_of(right, width), strict=True)
        return join([compute(a, b) for a, b in pairs])

    return from_two(run)


def rearranged(width: int, choose: Callable[[Lanes, Lanes], Lanes]) -> Meaning:
    """The lanes of vd = choose(the lanes of vj, of vk)."""

    def run(left: Any, right: Any) -> Any:
        return join(choose(lanes_of(left, width), lanes_of(right, width)))

    return from_two(run)


def chosen(width: int, bits: int, choose: Callable[[Lanes, Lanes, int], Lanes]) -> Meaning:
    """The lanes of vd = choose(those it had, those of vj, the unsigned field at bit 10)."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        old, source = (lanes_of(v, width) for v in sources(machine, layout, word, 0, 5))
        machine.put(
            vector_offset(layout, word & 31), join(choose(old, source, field(word, 10, bits)))
        )

    return run


def number_bits(width: int) -> int:
    """How many bits number the lanes of a width."""
    return (VECTOR_BITS // width - 1).bit_length()
