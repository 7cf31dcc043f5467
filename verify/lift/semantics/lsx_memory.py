"""LSX: loads and stores. Source: see `lsx_vectors`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.machine import Machine
from verify.lift.semantics import Meaning
from verify.lift.semantics.loongarch64_scalar import read_register
from verify.lift.semantics.lsx_vectors import (
    VECTOR_BITS,
    VECTOR_BYTES,
    WIDTHS,
    field,
    join,
    lanes_of,
    number_bits,
    read_vector,
    signed_field,
    sources,
    vector_offset,
)


def _address(machine: Machine, layout: Layout, word: int, offset: int) -> Any:
    return read_register(machine, layout, word >> 5 & 31) + claripy.BVV(offset % (1 << 64), 64)


def _indexed(machine: Machine, layout: Layout, word: int) -> Any:
    base, index = (read_register(machine, layout, word >> place & 31) for place in (5, 10))
    return base + index


def _displaced(machine: Machine, layout: Layout, word: int) -> Any:
    return _address(machine, layout, word, signed_field(word, 10, 12))


def _load(address: Callable[[Machine, Layout, int], Any]) -> Meaning:
    def run(machine: Machine, layout: Layout, word: int) -> None:
        value = machine.load(address(machine, layout, word), VECTOR_BYTES, little=True)
        machine.put(vector_offset(layout, word & 31), value)

    return run


def _store(address: Callable[[Machine, Layout, int], Any]) -> Meaning:
    def run(machine: Machine, layout: Layout, word: int) -> None:
        value = read_vector(machine, layout, word & 31)
        machine.store(address(machine, layout, word), value, little=True)

    return run


def _load_replicated(width: int) -> Meaning:
    """Every lane of vd = the lane in memory; the displacement counts lanes."""
    size = width // 8
    bits = 12 - size.bit_length() + 1

    def run(machine: Machine, layout: Layout, word: int) -> None:
        address = _address(machine, layout, word, size * signed_field(word, 10, bits))
        lane = machine.load(address, size, little=True)
        machine.put(vector_offset(layout, word & 31), join([lane] * (VECTOR_BITS // width)))

    return run


def _store_lane(width: int) -> Meaning:
    """One lane of vd to memory; the displacement counts lanes, the lane's number is at bit 18."""
    size = width // 8

    def run(machine: Machine, layout: Layout, word: int) -> None:
        (source,) = sources(machine, layout, word, 0)
        address = _address(machine, layout, word, size * signed_field(word, 10, 8))
        number = field(word, 18, number_bits(width))
        machine.store(address, lanes_of(source, width)[number], little=True)

    return run


MEANINGS: dict[str, Meaning] = {
    **{f"vldrepl.{letter}": _load_replicated(width) for letter, width in WIDTHS.items()},
    **{f"vstelm.{letter}": _store_lane(width) for letter, width in WIDTHS.items()},
    "vld": _load(_displaced),
    "vldx": _load(_indexed),
    "vst": _store(_displaced),
    "vstx": _store(_indexed),
}
