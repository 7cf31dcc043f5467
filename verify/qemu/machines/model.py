"""What is particular to an architecture when code runs under QEMU: its emulator, and where the
runner's messages hold each register."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROGRAM_COUNTER = "pc"


@dataclass(frozen=True)
class Place:
    """Where a register lies in a context: the first byte and the width in bits, in the byte order
    of the machine."""

    offset: int
    bits: int

    @property
    def end(self) -> int:
        """The first byte behind the register."""
        return self.offset + (self.bits + 7) // 8


@dataclass(frozen=True)
class Extension:
    """Instructions and registers that QEMU has since a version: their name, (major, minor)."""

    name: str
    since: tuple[int, int]


@dataclass(frozen=True)
class AddressSpace:
    """Where things are put under QEMU; each range is (first address, first one behind it).

    Code and data may be mapped in `usable` except for `emulator`, where the emulator puts the
    runner's own stack; the runner lies behind it. `returned` is the return address of the code
    under test: a case has ended when it gets there.
    """

    usable: tuple[int, int]
    emulator: tuple[int, int]
    returned: int


WIDE = AddressSpace(
    (0x1_0000, 0x0F00_0000_0000), (0x40_0000_0000, 0x50_0000_0000), 0x0F80_0000_0000
)
"""That of a machine of 64 bits."""
NARROW = AddressSpace((0x1_0000, 0xE000_0000), (0x4000_0000, 0x5000_0000), 0xE800_0000)
"""That of a machine of 32 bits."""


@dataclass(frozen=True)
class Machine:
    """What is particular to an architecture: its emulator and the layout of a context.

    `size` is the size of a context in bytes, `return_address` the register that holds the return
    address at entry (None where it lies in memory at the stack pointer), `constant` the names of
    registers that cannot be set. `reserved` says whether QEMU can reserve the guest's addresses,
    `extension` what is not in every QEMU.
    `fault_bytes` is what the address of a fault is a multiple of, to which it is rounded down;
    `no_address` is the address that is reported of a fault whose address is not known.
    All of the runner's messages are in the byte order of the machine. `processor` is QEMU's name of
    the processor, empty for its default; `runner` the architecture whose runner is used, empty for
    one of its own.
    """

    name: str
    emulator: str
    places: Mapping[str, Place]
    size: int
    return_address: str | None
    constant: frozenset[str] = frozenset()
    reserved: bool = True
    extension: Extension | None = None
    byte_order: Literal["little", "big"] = "little"
    space: AddressSpace = WIDE
    processor: str = ""
    runner: str = ""
    fault_bytes: int = 1
    no_address: int | None = None

    @property
    def order(self) -> str:
        """The byte order as `struct` writes it."""
        return "<" if self.byte_order == "little" else ">"

    @cached_property
    def _format(self) -> tuple[struct.Struct, tuple[str, ...], tuple[tuple[int, str], ...]]:
        """A context as numbers of up to 64 bits, the registers in its order, and the wider ones.

        Of a wider register the number of the half that comes first is given; the other is next.
        """
        codes, end = [self.order], 0
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
            low, high = numbers[at] & _LOW, numbers[at] >> 64
            numbers[at : at + 2] = (low, high) if self.order == "<" else (high, low)
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
            first, second = numbers[at], numbers[at + 1]
            low, high = (first, second) if self.order == "<" else (second, first)
            registers[name] = low | high << 64
        return registers


_CODES = {1: "B", 4: "I", 8: "Q", 16: "QQ"}
"""The struct format of a register's place by its size in bytes."""
_LOW = (1 << 64) - 1


def words(names: Sequence[str], first: int) -> dict[str, Place]:
    """Registers of 64 bits in consecutive words of a context, from word `first` on."""
    return {name: Place(8 * (first + n), 64) for n, name in enumerate(names)}
