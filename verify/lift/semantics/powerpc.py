"""What SLEIGH's PowerPC lacks, the doubleword accesses with their bytes reversed; and what VEX's
says too much of, the move from one field of the condition register.

Power ISA 3.1, Book I, "Fixed-Point Load and Store with Byte Reversal Instructions". The address is
(RA|0) + (RB); the bytes are in the order that is not that of other accesses.
"""

from __future__ import annotations

from typing import Any

from angr import claripy

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


_FIELDS = 8


def _move_from_field(machine: Machine, layout: Layout, word: int) -> None:
    """Field n of the condition register goes to bits 4n+32 to 4n+35 of RT, counted from the most
    significant of 64; the other bits of RT are undefined."""
    number = _FIELDS - (word >> 12 & 0xFF).bit_length()
    field = claripy.Concat(
        machine.get(*layout.registers[f"cr{number}_321"])[3:1],
        machine.get(*layout.registers[f"cr{number}_0"])[0:0],
    )
    offset, size = layout.registers[f"gpr{_field(word, 21)}"]
    free, low = machine.undefined(size), 4 * (_FIELDS - 1 - number)
    parts = [free[8 * size - 1 : low + 4]] if low + 4 < 8 * size else []
    parts += [field, *([free[low - 1 : 0]] if low else [])]
    machine.put(offset, claripy.Concat(*parts))


ENCODED = tuple(
    Encoded(
        0xFC1F_FFFF,
        0x7C10_0026 | 1 << 12 + bit,
        Semantics(
            "mfocrf",
            _move_from_field,
            "Power ISA 3.1, Book I, Move From One Condition Register Field",
            "",
        ),
        lambda word: f"r{_field(word, 21)}, {word >> 12 & 0xFF:#x}",
    )
    for bit in range(_FIELDS)
)
"""For each field, and VEX."""
