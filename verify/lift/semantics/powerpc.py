"""What SLEIGH's PowerPC lacks: the doubleword accesses with their bytes reversed.

Power ISA 3.1, Book I, "Fixed-Point Load and Store with Byte Reversal Instructions". The address is
(RA|0) + (RB); the bytes are in the order that is not that of other accesses.
"""

from __future__ import annotations

from typing import Any

from verify.lift.engine import Layout
from verify.lift.machine import Machine, Unsupported
from verify.lift.semantics import Encoded, Semantics

_MASK = 0xFC00_07FE
_EXTENDED = 0x7C00_0000
_BYTES = 8
_MANUAL = "Power ISA 3.1, Book I, Fixed-Point Load and Store with Byte Reversal Instructions"


def _field(word: int, low: int) -> int:
    return word >> low & 31


def _place(layout: Layout, number: int) -> tuple[int, int]:
    return layout.registers[f"r{number}"]


def _address(machine: Machine, layout: Layout, word: int) -> Any:
    base, index = _field(word, 16), _field(word, 11)
    if _place(layout, 0)[1] != _BYTES:
        raise Unsupported(machine.instruction, "no instruction of a machine of 32 bits")
    offset = machine.get(*_place(layout, index))
    if base == 0:
        return offset
    return machine.get(*_place(layout, base)) + offset


def _load(machine: Machine, layout: Layout, word: int) -> None:
    value = machine.load(_address(machine, layout, word), _BYTES, not machine.little)
    machine.put(_place(layout, _field(word, 21))[0], value)


def _store(machine: Machine, layout: Layout, word: int) -> None:
    value = machine.get(*_place(layout, _field(word, 21)))
    machine.store(_address(machine, layout, word), value, not machine.little)


def _operands(word: int) -> str:
    return ", ".join(f"r{_field(word, low)}" for low in (21, 16, 11))


UNDECODED = (
    Encoded(_MASK, _EXTENDED | 532 << 1, Semantics("ldbrx", _load, _MANUAL, ""), _operands),
    Encoded(_MASK, _EXTENDED | 660 << 1, Semantics("stdbrx", _store, _MANUAL, ""), _operands),
)
"""Instructions that SLEIGH does not decode."""
