"""Small programs in machine code, and the targets that they and built files make.

Encodings: LoongArch Reference Manual, volume 1, appendix B; Power ISA 3.1, book I.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.arch import by_name
from verify.image import open_images
from verify.locate import find_target
from verify.target import CodeSegment, Function, Target

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ENTRY = 0x400


@dataclass(frozen=True)
class Machine:
    """What the programs are written with: the numbers of the registers that have a part in them.

    All instructions are 4 bytes; offsets and immediates are in bytes and signed.
    """

    name: str
    registers: Mapping[str, int]
    trap: int
    back: int
    """Return to the caller."""

    def add(self, target: str, source: str, immediate: int) -> int:
        """target = source + immediate"""
        t, s = self.registers[target], self.registers[source]
        if self.name == "loongarch64":
            return 0x02C00000 | (immediate & 0xFFF) << 10 | s << 5 | t
        return 14 << 26 | t << 21 | s << 16 | immediate & 0xFFFF

    def zero(self, target: str) -> int:
        """target = 0"""
        if self.name == "loongarch64":
            return self.move(target, "zero")
        return 14 << 26 | self.registers[target] << 21

    def move(self, target: str, source: str) -> int:
        """target = source"""
        t, s = self.registers[target], self.registers[source]
        if self.name == "loongarch64":
            return 0x00150000 | s << 5 | t
        return 31 << 26 | s << 21 | t << 16 | s << 11 | 444 << 1

    def store(self, value: str, base: str, offset: int) -> int:
        """Store the low word of a register."""
        return self._access(0x29800000, 36, value, base, offset)

    def store_double(self, value: str, base: str, offset: int) -> int:
        """Store a whole register."""
        return self._access(0x29C00000, 62, value, base, offset)

    def load(self, target: str, base: str, offset: int) -> int:
        """Load a word."""
        return self._access(0x28800000, 32, target, base, offset)

    def _access(self, loongarch: int, power: int, value: str, base: str, offset: int) -> int:
        v, b = self.registers[value], self.registers[base]
        if self.name == "loongarch64":
            return loongarch | (offset & 0xFFF) << 10 | b << 5 | v
        return power << 26 | v << 21 | b << 16 | offset & 0xFFFF

    def branch(self, offset: int) -> int:
        """Continue at this distance from the branch."""
        if self.name == "loongarch64":
            return 0x50000000 | (offset >> 2 & 0xFFFF) << 10 | offset >> 18 & 0x3FF
        return 18 << 26 | offset & 0x3FFFFFC

    def go_to(self, register: str) -> tuple[int, ...]:
        """Continue at the address in a register."""
        number = self.registers[register]
        if self.name == "loongarch64":
            return (0x4C000000 | number << 5,)
        return (0x7C0903A6 | number << 21, 0x4E800420)

    def branch_if_not_zero(self, register: str, offset: int) -> tuple[int, ...]:
        """Continue at this distance from the first of these instructions."""
        number = self.registers[register]
        if self.name == "loongarch64":
            return (0x44000000 | (offset >> 2 & 0xFFFF) << 10 | number << 5 | offset >> 18 & 0x1F,)
        return (0x2C200000 | number << 16, 0x40820000 | (offset - 4) & 0xFFFC)

    def program(self, *code: int, at: int = ENTRY) -> Target:
        """The target whose function is this code."""
        data = b"".join(word.to_bytes(4, "little") for word in code)
        return Target(
            source="program",
            sha256="",
            path=("program",),
            image_sha256="",
            build_id="",
            architecture=by_name(self.name),
            segments=(CodeSegment(at, data, True),),
            function=Function("program", at, len(data), "written here"),
        )


MACHINES = {
    machine.name: machine
    for machine in (
        Machine(
            name="loongarch64",
            registers={
                "zero": 0,
                "ra": 1,
                "sp": 3,
                "reserved": 21,
                "dst": 4,
                "key": 5,
                "counter": 6,
                "nblocks": 7,
                "free": 12,
                "other": 13,
                "saved": 23,
            },
            trap=0x002A0000,
            back=0x4C000020,
        ),
        Machine(
            name="powerpc64le",
            registers={
                "sp": 1,
                "reserved": 13,
                "dst": 3,
                "key": 4,
                "counter": 5,
                "nblocks": 6,
                "free": 9,
                "other": 10,
                "saved": 14,
            },
            trap=0x7FE00008,
            back=0x4E800020,
        ),
    )
}


def built(path: Path) -> Target:
    """The function under proof in a file that was built."""
    (image,) = open_images(path)
    return find_target(image, path.name, image.sha256)


def address_of(target: Target, instruction: int) -> int:
    """Where the function has this instruction, which it has once."""
    data = target.function_bytes
    word = instruction.to_bytes(4, "little")
    (found,) = (at for at in range(0, len(data), 4) if data[at : at + 4] == word)
    return target.function.address + found
