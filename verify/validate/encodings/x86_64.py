"""x86-64's instruction formats: prefixes, opcode, ModRM, SIB, displacement, immediate.

"Intel 64 and IA-32 Architectures Software Developer's Manual", Volume 2, chapter 2 (instruction
format) and appendix A (opcode maps). An instruction's word is its bytes in their order, the first
one the most significant.

Operands are the numbers of registers (their highest bits are in the REX prefix), the scale,
displacements and immediates. The rest is the form: the prefixes, the opcode, the extension of the
opcode in ModRM, and the kind of the operand in memory, whether it has a base, an index or rip and
how wide its displacement is. An immediate that chooses the operation is no operand. The encodings
of MMX, x87, VEX, EVEX and XOP, and privileged instructions, are in no format.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from verify.lift.semantics.x86_64_code import OPERAND_SIZE, Opening, opening, undefined_flags
from verify.validate.encodings.model import Encoding, Field, Form, Format, whole

_SSE_PREFIXES = frozenset((0x66, 0xF2, 0xF3))

# Of the map of one byte, by opcode. Groups have the extension of the opcode in ModRM's reg.
_ARITHMETIC = range(0x40)
_GROUPS = frozenset((0x80, 0x81, 0x83, 0x8F, 0xC0, 0xC1, 0xC6, 0xC7, *range(0xD0, 0xD4)))
_GROUPS_OF_ONE = _GROUPS | {0xF6, 0xF7, 0xFE, 0xFF}
_WITH_MODRM = frozenset((0x63, 0x69, 0x6B, *range(0x84, 0x8C), 0x8D)) | _GROUPS_OF_ONE
_IMMEDIATE_8 = frozenset((0x6A, 0x6B, 0x80, 0x83, 0xA8, 0xC0, 0xC1, 0xC6, *range(0xB0, 0xB8)))
_IMMEDIATE_32 = frozenset((0x68, 0x69, 0x81, 0xA9, 0xC7))
_FIXED_IMMEDIATES = {
    **dict.fromkeys((*range(0x70, 0x80), *range(0xE0, 0xE4), 0xEB), 1),
    **dict.fromkeys((0xE8, 0xE9), 4),
    0xC2: 2,
}
"""The widths in bytes of distances and of what a return releases."""
_REGISTER_IN_OPCODE = frozenset((*range(0x50, 0x60), *range(0xB0, 0xC0)))
_WITHOUT_MODRM = (
    frozenset((0x90, 0x98, 0x99, 0xC3, 0xC9, 0xF5, 0xF8, 0xF9, 0xFC, 0xFD))
    | _IMMEDIATE_8
    | _IMMEDIATE_32
    | _FIXED_IMMEDIATES.keys()
)

# Of the map of two bytes.
_TWO_HINTS = frozenset((0x18, *range(0x1C, 0x20)))
_TWO_GROUPS = frozenset((*_TWO_HINTS, 0x71, 0x72, 0x73, *range(0x90, 0xA0), 0xBA, 0xC7))
_TWO_IMMEDIATE_8 = frozenset((0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6))
_TWO_CHOOSING = frozenset((0xC2,))
"""The immediate is the comparison."""
_TWO_GENERAL = frozenset(
    (
        *_TWO_HINTS,
        *range(0x40, 0x50),
        *range(0x90, 0xA0),
        *(0xA3, 0xA4, 0xA5, 0xAB, 0xAC, 0xAD, 0xAF, 0xB0, 0xB1, 0xB3, 0xB6, 0xB7, 0xB8),
        *(0xBA, 0xBB, 0xBC, 0xBD, 0xBE, 0xBF, 0xC0, 0xC1, 0xC3, 0xC7),
    )
)
_TWO_VECTOR = frozenset(
    (
        *(*range(0x10, 0x18), *range(0x28, 0x30), *range(0x50, 0x77), *range(0x7C, 0x80)),
        *(0xC2, 0xC4, 0xC5, 0xC6, *range(0xD0, 0xFF)),
    )
)
_TWO_MMX = {
    **dict.fromkeys((*range(0x60, 0x77), 0x7E, 0x7F, 0xC4, 0xC5, *range(0xD0, 0xFF)), (0,)),
    **dict.fromkeys((0x2A, 0x2C, 0x2D), (0, 0x66)),
    0xD6: (0, 0xF2, 0xF3),
}
"""With these prefixes, 0 being none, they have operands in registers of MMX."""
_TWO_RELATIVE = range(0x80, 0x90)
_TWO_SWAPS = range(0xC8, 0xD0)
_PALIGNR, _PBLENDW = 0x0F, 0x0E


@dataclass
class _Reader:
    """Goes through an instruction's bytes and notes which bits are operands."""

    code: bytes
    opening: Opening
    at: int
    registers: list[Field] = field(default_factory=list)
    immediates: list[Field] = field(default_factory=list)

    def byte(self) -> int:
        """The next byte; raises IndexError behind the last."""
        self.at += 1
        return self.code[self.at - 1]

    def _low(self, at: int) -> int:
        """The place in the word of the lowest bit of a byte."""
        return 8 * (len(self.code) - 1 - at)

    def register(self, at: int, bit: int, extension: str) -> None:
        """Three bits of a byte are a register's number, with a bit of REX where there is one."""
        self.registers.append((self._low(at) + bit, 3))
        if self.opening.rex:
            rex_at = self.opening.size - len(self.opening.opcode) - 1
            self.registers.append((self._low(rex_at) + "BXR".index(extension), 1))

    def immediate(self, size: int) -> None:
        """The next bytes are a number; each byte is in its place, whatever their order."""
        if self.at + size > len(self.code):
            raise IndexError
        if size:
            self.immediates.append((self._low(self.at + size - 1), 8 * size))
            self.at += size

    def modrm(self, *, group: bool) -> int:
        """Read ModRM, SIB and displacement; the result is ModRM's reg.

        `group`: reg is no register but a part of the opcode.
        """
        at, value = self.at, self.byte()
        mod, reg, rm = value >> 6, value >> 3 & 7, value & 7
        if not group:
            self.register(at, 3, "R")
        if mod == 3:
            self.register(at, 0, "B")
            return reg
        if rm == 4:
            wide = self._sib(mod)
        else:
            wide = mod == 0 and rm == 5
            if not wide:
                self.register(at, 0, "B")
        self.immediate(4 if wide or mod == 2 else mod)
        return reg

    def _sib(self, mod: int) -> bool:
        """Read SIB; whether it says that there is a displacement and no base."""
        at, value = self.at, self.byte()
        if value >> 3 & 7 != 4 or self.opening.rex & 2:
            self.register(at, 3, "X")
            self.immediates.append((self._low(at) + 6, 2))
        if mod == 0 and value & 7 == 5:
            return True
        self.register(at, 0, "B")
        return False

    @property
    def number(self) -> int:
        """The size in bytes of an immediate as wide as the operands, of 32 bits at the most."""
        narrow = OPERAND_SIZE in self.opening.prefixes and not self.opening.rex & 8
        return 2 if narrow else 4


def _one_byte(reader: _Reader) -> bool:
    """Read what follows an opcode of the map of one byte; False for those in no format."""
    (opcode,) = reader.opening.opcode
    at = reader.at - 1
    if opcode in _ARITHMETIC:
        column = opcode & 7
        if column > 5:
            return False
        if column < 4:
            reader.modrm(group=False)
        else:
            reader.immediate(1 if column == 4 else reader.number)
        return True
    extension = 0
    if opcode in _REGISTER_IN_OPCODE:
        reader.register(at, 0, "B")
    elif opcode in _WITH_MODRM:
        extension = reader.modrm(group=opcode in _GROUPS_OF_ONE)
    elif opcode not in _WITHOUT_MODRM:
        return False
    if opcode in _IMMEDIATE_8 or (opcode == 0xF6 and extension < 2):
        reader.immediate(1)
    elif opcode in range(0xB8, 0xC0):
        reader.immediate(8 if reader.opening.rex & 8 else reader.number)
    elif opcode in _IMMEDIATE_32 or (opcode == 0xF7 and extension < 2):
        reader.immediate(reader.number)
    elif opcode in _FIXED_IMMEDIATES:
        reader.immediate(_FIXED_IMMEDIATES[opcode])
    return True


def _two_bytes(reader: _Reader) -> bool:
    """The same for the map of two bytes."""
    opcode = reader.opening.opcode[1]
    if opcode in _TWO_RELATIVE:
        reader.immediate(4)
        return True
    if opcode in _TWO_SWAPS:
        reader.register(reader.at - 1, 0, "B")
        return True
    if not (reader.opening.prefixes & _SSE_PREFIXES or {0}).difference(_TWO_MMX.get(opcode, ())):
        return False
    if opcode not in _TWO_GENERAL | _TWO_VECTOR:
        return False
    registers = reader.code[reader.at] >> 6 == 3
    if opcode in _TWO_HINTS and registers:
        return False
    reader.modrm(group=opcode in _TWO_GROUPS)
    if opcode in _TWO_CHOOSING:
        reader.at += 1
    elif opcode in _TWO_IMMEDIATE_8:
        reader.immediate(1)
    return True


def _three_bytes(reader: _Reader) -> bool:
    """The same for the maps of three bytes, of which the second has immediates."""
    _, escape, opcode = reader.opening.opcode
    if not reader.opening.prefixes & _SSE_PREFIXES:
        return False
    reader.modrm(group=False)
    if escape == 0x3A:
        if opcode in (_PALIGNR, _PBLENDW):
            reader.immediate(1)
        else:
            reader.at += 1
    return True


def _read(code: bytes) -> _Reader | None:
    """The instruction; None where it is in no format."""
    try:
        start = opening(code)
        reader = _Reader(code, start, start.size)
        known = (_one_byte, _two_bytes, _three_bytes)[len(start.opcode) - 1](reader)
    except IndexError:
        return None
    return reader if known and reader.at == len(code) else None


class _X86(Encoding):
    """Formats that are computed, since they are too many for a list."""

    def format(self, code: bytes) -> Format:
        """The format of an instruction."""
        reader = _read(code)
        if reader is None:
            return whole(self.word(code), len(code))
        last = (1 << 8 * len(code)) - 1
        operands = tuple(reader.registers), tuple(reader.immediates)
        return Format("computed", 0, last, *operands, size=len(code))

    def format_of(self, form: Form) -> Format:
        """The format of the instructions of a form: that of the one with operands of zero."""
        return self.format(self.code(form))


ENCODING = _X86(
    formats=(),
    order="big",
    trap=b"\x06",  # push es, in 64-bit mode
    # Volume 1, section 3.4.3: the arithmetic flags, the direction flag and the alignment check.
    settable={"eflags": 0x40CD5},
    undefined=lambda code, _registers: undefined_flags(code),
)
