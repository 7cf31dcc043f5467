"""The registers as the ABI names them, in a state as QEMU's runner reports it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from verify import qemu
from verify.arch import Saved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.arch import Architecture, Register


@dataclass(frozen=True)
class Field:
    """Where an ABI register lies: the runner's register, how far to shift it right, what to mask.

    A bit of `mask` that is zero is not part of the register and reads as zero.
    """

    name: str
    shift: int
    mask: int


# Power ISA 3.1, book I, 2.3.1 and 3.2.2: the condition register has eight fields of four bits, the
# first in the most significant bits; the last bit of a field is its summary overflow bit.
_PARTS = {
    **{f"cr{n}": Field("cr", 29 - 4 * n, 0b111) for n in range(8)},
    **{f"cr{n}.so": Field("cr", 28 - 4 * n, 1) for n in range(8)},
    "xer.so": Field("xer", 31, 1),
    "xer.ov": Field("xer", 30, 1),
    "xer.ca": Field("xer", 29, 1),
    "xer.bc": Field("xer", 0, 0x7F),
    # Intel 64 and IA-32 Architectures Software Developer's Manual, Volume 1, 3.4.3: RFLAGS.
    **{
        name: Field("eflags", bit, 1)
        for name, bit in {
            "cf": 0,
            "pf": 2,
            "af": 4,
            "zf": 6,
            "sf": 7,
            "df": 10,
            "of": 11,
            "ac": 18,
        }.items()
    },
    # Arm Architecture Reference Manual for A-profile, "NZCV" and "FPSR".
    **{name: Field("nzcv", bit, 1) for name, bit in {"n": 31, "z": 30, "c": 29, "v": 28}.items()},
    "fpsr.qc": Field("fpsr", 27, 1),
    # z/Architecture Principles of Operation, chapter 21, "Vector Overview and Support
    # Instructions": f<n> is the more significant half of v<n>. Chapter 9, "Floating-Point Overview
    # and Support Instructions": of the control register, bits that are not assigned, and the bit of
    # the binary rounding mode with which others are not, cannot be set.
    **{f"f{n}": Field(f"v{n}", 64, (1 << 64) - 1) for n in range(8, 16)},
    **{f"v{n}.low": Field(f"v{n}", 0, (1 << 64) - 1) for n in range(8, 16)},
    "fpc.masks": Field("fpc", 24, 0xF8),
    "fpc.flags": Field("fpc", 8, 0xF8FF),
    "fpc.rounding": Field("fpc", 0, 0x73),
}


@cache
def _fields(name: str) -> dict[str, Field]:
    """Every register that QEMU shows of the architecture `name`, as the ABI calls it.

    Raises QemuError when there is no runner for it.
    """
    places = qemu.machine_of(name).places
    whole = {at: Field(at, 0, (1 << place.bits) - 1) for at, place in places.items()}
    # What one architecture has as a part of another register, another has by itself.
    return {at: part for at, part in _PARTS.items() if part.name in places} | whole


def field_of(architecture: Architecture, name: str) -> Field | None:
    """Where the register lies that the ABI calls `name`; None if QEMU does not show it."""
    return _fields(architecture.name).get(name)


def observed(architecture: Architecture, *saved: Saved) -> tuple[Register, ...]:
    """The registers that the ABI treats in one of these ways and that QEMU shows."""
    return tuple(
        register
        for register in architecture.registers
        if register.saved in saved and register.name in _fields(architecture.name)
    )


def unobserved(architecture: Architecture) -> tuple[Register, ...]:
    """The callee-saved and reserved registers that QEMU does not show: nothing is said of them."""
    return tuple(
        register
        for register in architecture.registers
        if register.saved in {Saved.CALLEE, Saved.RESERVED}
        and register.name not in _fields(architecture.name)
    )


def undefined(architecture: Architecture) -> tuple[Register, ...]:
    """The registers that may hold anything at entry, and that have no part that is preserved.

    The condition register is saved as a whole for the sake of its callee-saved fields, so its
    other fields are not among them.
    """
    preserved = observed(architecture, Saved.CALLEE, Saved.RESERVED)
    fields = _fields(architecture.name)
    shared = {fields[register.name].name for register in preserved}
    return tuple(
        register
        for register in observed(architecture, Saved.CALLER)
        if fields[register.name].name not in shared
    )


def read(architecture: Architecture, registers: Mapping[str, int], name: str) -> int:
    """The value of the register that the ABI calls `name`; raises KeyError if QEMU has none."""
    field = _fields(architecture.name)[name]
    return registers[field.name] >> field.shift & field.mask


def write(architecture: Architecture, registers: dict[str, int], name: str, value: int) -> None:
    """Give a register its value, without the bits that it does not have.

    Raises ValueError when QEMU cannot set it.
    """
    field = _fields(architecture.name).get(name)
    if field is None or field.name in qemu.machine_of(architecture.name).constant:
        raise ValueError(f"QEMU cannot set the register {name} of {architecture.name}")
    rest = registers.get(field.name, 0) & ~(field.mask << field.shift)
    registers[field.name] = rest | (value & field.mask) << field.shift
