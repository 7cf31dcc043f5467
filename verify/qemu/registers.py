"""The registers of each architecture, and where the runner's messages hold them.

Names are those of the ABIs: "ELF for the LoongArch Architecture psABI", section "Register
Convention"; "64-Bit ELF V2 ABI Specification: Power Architecture", section 2.2.2; "RISC-V ABIs
Specification", chapter "Calling Conventions"; "System V Application Binary Interface, AMD64
Architecture Processor Supplement", section 3.2.1. For the parts of PowerPC's vector-scalar
registers: f<n> is the more significant half of VSR n, vs<n>.low the less significant half, v<n> is
VSR 32 + n.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM_COUNTER = "pc"


@dataclass(frozen=True)
class Place:
    """Where a register lies in a context: the first byte and the width in bits, little-endian."""

    offset: int
    bits: int

    @property
    def end(self) -> int:
        """The first byte behind the register."""
        return self.offset + (self.bits + 7) // 8


@dataclass(frozen=True)
class Machine:
    """What is particular to an architecture: its emulator and the layout of a context.

    `size` is the size of a context in bytes, `return_address` the register that holds the return
    address at entry (None where it lies in memory at the stack pointer), `constant` the names of
    registers that cannot be set. `reserved` says whether QEMU can reserve the guest's addresses.
    """

    name: str
    emulator: str
    places: Mapping[str, Place]
    size: int
    return_address: str | None
    constant: frozenset[str] = frozenset()
    reserved: bool = True

    @cached_property
    def _format(self) -> tuple[struct.Struct, tuple[str, ...], tuple[tuple[int, str], ...]]:
        """A context as numbers of up to 64 bits, the registers in its order, and the wider ones.

        Of a wider register the number of its less significant half is given; the other is next.
        """
        codes, end = ["<"], 0
        names: list[str] = []
        wide: list[tuple[int, str]] = []
        for name, place in sorted(self.places.items(), key=lambda item: item[1].offset):
            codes.append(f"{place.offset - end}x{_CODES[place.end - place.offset]}")
            end = place.end
            if place.bits > 64:
                wide.append((len(names), name))
                names.append(name)
            names.append(name)
        codes.append(f"{self.size - end}x")
        return struct.Struct("".join(codes)), tuple(names), tuple(wide)

    @cached_property
    def _narrow(self) -> tuple[tuple[str, int], ...]:
        """The registers with fewer bits than their place has, and with how many."""
        return tuple((name, place.bits) for name, place in self.places.items() if place.bits % 8)

    def pack(self, values: Mapping[str, int]) -> bytes:
        """The context that holds these values, and zero in all other registers.

        Raises ValueError where there is no such register, or a value does not fit or cannot be set.
        """
        layout, names, wide = self._format
        numbers = [values.get(name, 0) for name in names]
        for at, _ in wide:
            numbers[at], numbers[at + 1] = numbers[at] & _LOW, numbers[at] >> 64
        try:
            if (
                values.keys() <= self.places.keys()
                and not any(values.get(name, 0) >> bits for name, bits in self._narrow)
                and not any(values.get(name) for name in self.constant)
            ):
                return layout.pack(*numbers)
        except struct.error:
            pass
        raise ValueError(self._refusal(values))

    def _refusal(self, values: Mapping[str, int]) -> str:
        """Why a context cannot hold these values."""
        for name, value in values.items():
            place = self.places.get(name)
            if place is None:
                return f"{self.name} has no register {name}"
            if not 0 <= value < 1 << place.bits:
                return f"{value:#x} does not fit the {place.bits} bits of {name}"
            if value and name in self.constant:
                return f"{name} is always zero, it cannot be {value:#x}"
        raise AssertionError(values)

    def unpack(self, context: bytes, offset: int) -> dict[str, int]:
        """Every register of the context at an offset in bytes."""
        layout, names, wide = self._format
        numbers = layout.unpack_from(context, offset)
        registers = dict(zip(names, numbers, strict=True))
        for at, name in wide:
            registers[name] = numbers[at] | numbers[at + 1] << 64
        return registers


_CODES = {1: "B", 4: "I", 8: "Q", 16: "QQ"}
"""The struct format of a register's place by its size in bytes."""
_LOW = (1 << 64) - 1


def _words(names: list[str], first: int) -> dict[str, Place]:
    return {name: Place(8 * (first + n), 64) for n, name in enumerate(names)}


_LOONGARCH64_GENERAL = [
    *("zero", "ra", "tp", "sp"),
    *(f"a{n}" for n in range(8)),
    *(f"t{n}" for n in range(9)),
    *("r21", "fp"),
    *(f"s{n}" for n in range(9)),
    PROGRAM_COUNTER,
]
_LOONGARCH64_FLOATING = [
    *(f"fa{n}" for n in range(8)),
    *(f"ft{n}" for n in range(16)),
    *(f"fs{n}" for n in range(8)),
]
_LOONGARCH64_FLAGS = 8 * 65

_POWERPC64LE_GENERAL = [*(f"r{n}" for n in range(32)), PROGRAM_COUNTER, "lr", "ctr", "xer"]
_POWERPC64LE_VECTORS = 8 * 37

_RISCV64_GENERAL = [
    PROGRAM_COUNTER,
    *("ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{n}" for n in range(8)),
    *(f"s{n}" for n in range(2, 12)),
    *(f"t{n}" for n in range(3, 7)),
]
_RISCV64_FLOATING = [
    *(f"ft{n}" for n in range(8)),
    *("fs0", "fs1"),
    *(f"fa{n}" for n in range(8)),
    *(f"fs{n}" for n in range(2, 12)),
    *(f"ft{n}" for n in range(8, 12)),
]

_X86_64_GENERAL = [
    *(f"r{n}" for n in range(8, 16)),
    *("rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", PROGRAM_COUNTER, "eflags"),
]
_X86_64_VECTORS = 8 * 18

MACHINES = {
    machine.name: machine
    for machine in (
        Machine(
            name="loongarch64",
            emulator="qemu-loongarch64",
            places={
                **_words(_LOONGARCH64_GENERAL, 0),
                **_words(_LOONGARCH64_FLOATING, 33),
                **{f"fcc{n}": Place(_LOONGARCH64_FLAGS + n, 1) for n in range(8)},
                "fcsr": Place(8 * 66, 32),
            },
            size=8 * 67,
            return_address="ra",
            constant=frozenset({"zero"}),
        ),
        Machine(
            name="powerpc64le",
            emulator="qemu-ppc64le",
            places={
                **_words(_POWERPC64LE_GENERAL, 0),
                "cr": Place(8 * 36, 32),
                **{f"f{n}": Place(_POWERPC64LE_VECTORS + 16 * n + 8, 64) for n in range(32)},
                **{f"vs{n}.low": Place(_POWERPC64LE_VECTORS + 16 * n, 64) for n in range(32)},
                **{f"v{n}": Place(_POWERPC64LE_VECTORS + 16 * (n + 32), 128) for n in range(32)},
            },
            size=8 * (37 + 128),
            return_address="lr",
        ),
        Machine(
            name="riscv64",
            emulator="qemu-riscv64",
            places={
                **_words(_RISCV64_GENERAL, 0),
                **_words(_RISCV64_FLOATING, 32),
                "fcsr": Place(8 * 64, 32),
            },
            size=8 * 65,
            return_address="ra",
        ),
        Machine(
            name="x86_64",
            emulator="qemu-x86_64",
            places={
                **_words(_X86_64_GENERAL, 0),
                **{f"xmm{n}": Place(_X86_64_VECTORS + 16 * n, 128) for n in range(16)},
            },
            size=8 * (18 + 32),
            return_address=None,
            reserved=False,  # the page of vsyscall lies above
        ),
    )
}
