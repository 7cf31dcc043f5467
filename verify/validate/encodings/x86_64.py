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

from collections.abc import Mapping
from dataclasses import dataclass, field

from verify.validate.encodings.model import Encoding, Field, Form, Format, whole

_PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))
_OPERAND_SIZE = 0x66
_SSE_PREFIXES = frozenset((0x66, 0xF2, 0xF3))
_ESCAPE = 0x0F

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
    at: int = 0
    opcode: tuple[int, ...] = ()
    """The bytes of the opcode, and its extension where it has one."""
    prefixes: set[int] = field(default_factory=set)
    rex: int = 0
    rex_at: int = 0
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
        if self.rex:
            self.registers.append((self._low(self.rex_at) + "BXR".index(extension), 1))

    def immediate(self, size: int) -> None:
        """The next bytes are a number; each byte is in its place, whatever their order."""
        if self.at + size > len(self.code):
            raise IndexError
        if size:
            self.immediates.append((self._low(self.at + size - 1), 8 * size))
            self.at += size

    def start(self) -> None:
        """Read the prefixes."""
        while self.code[self.at] in _PREFIXES:
            self.prefixes.add(self.byte())
        if self.code[self.at] & 0xF0 == 0x40:
            self.rex_at, self.rex = self.at, self.byte()

    def modrm(self, *, group: bool) -> int:
        """Read ModRM, SIB and displacement; the result is ModRM's reg.

        `group`: reg is no register but a part of the opcode.
        """
        at, value = self.at, self.byte()
        mod, reg, rm = value >> 6, value >> 3 & 7, value & 7
        if group:
            self.opcode += (reg,)
        else:
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
        if value >> 3 & 7 != 4 or self.rex & 2:
            self.register(at, 3, "X")
            self.immediates.append((self._low(at) + 6, 2))
        if mod == 0 and value & 7 == 5:
            return True
        self.register(at, 0, "B")
        return False

    @property
    def number(self) -> int:
        """The size in bytes of an immediate as wide as the operands, of 32 bits at the most."""
        return 2 if _OPERAND_SIZE in self.prefixes and not self.rex & 8 else 4

    @property
    def width(self) -> int:
        """The width in bits of the operands of an instruction whose opcode is even for bytes."""
        if not self.opcode[0] & 1:
            return 8
        return 64 if self.rex & 8 else 8 * self.number


def _one_byte(reader: _Reader) -> bool:
    """Read what follows an opcode of the map of one byte; False for those in no format."""
    (opcode,) = reader.opcode
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
        reader.immediate(8 if reader.rex & 8 else reader.number)
    elif opcode in _IMMEDIATE_32 or (opcode == 0xF7 and extension < 2):
        reader.immediate(reader.number)
    elif opcode in _FIXED_IMMEDIATES:
        reader.immediate(_FIXED_IMMEDIATES[opcode])
    return True


def _two_bytes(reader: _Reader) -> bool:
    """The same for the map of two bytes."""
    opcode = reader.opcode[1]
    if opcode in _TWO_RELATIVE:
        reader.immediate(4)
        return True
    if opcode in _TWO_SWAPS:
        reader.register(reader.at - 1, 0, "B")
        return True
    if not (reader.prefixes & _SSE_PREFIXES or {0}).difference(_TWO_MMX.get(opcode, ())):
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
    _, escape, opcode = reader.opcode
    if not reader.prefixes & _SSE_PREFIXES:
        return False
    reader.modrm(group=False)
    if escape == 0x3A:
        if opcode in (_PALIGNR, _PBLENDW):
            reader.immediate(1)
        else:
            reader.at += 1
    return True


def _read(code: bytes) -> tuple[_Reader, bool]:
    """The instruction, and whether it has a format."""
    reader = _Reader(code)
    try:
        reader.start()
        reader.opcode = (reader.byte(),)
        if reader.opcode[0] != _ESCAPE:
            return reader, _one_byte(reader) and reader.at == len(code)
        reader.opcode += (reader.byte(),)
        if reader.opcode[1] not in (0x38, 0x3A):
            return reader, _two_bytes(reader) and reader.at == len(code)
        reader.opcode += (reader.byte(),)
        return reader, _three_bytes(reader) and reader.at == len(code)
    except IndexError:
        return reader, False


class _X86(Encoding):
    """Formats that are computed, since they are too many for a list."""

    def format(self, code: bytes) -> Format:
        """The format of an instruction."""
        reader, known = _read(code)
        if not known:
            return whole(self.word(code), len(code))
        last = (1 << 8 * len(code)) - 1
        operands = tuple(reader.registers), tuple(reader.immediates)
        return Format("computed", 0, last, *operands, size=len(code))

    def format_of(self, form: Form) -> Format:
        """The format of the instructions of a form: that of the one with operands of zero."""
        return self.format(self.code(form))


_LOGICAL = (1, 4, 6)
"""or, and, xor among the eight operations of the arithmetic opcodes."""
_PRODUCT = ("sf", "zf", "af", "pf")
_ALL = ("cf", "pf", "af", "zf", "sf", "of")
_BIT_TEST = ("of", "sf", "af", "pf")


def _undefined(code: bytes, registers: Mapping[str, int]) -> tuple[str, ...]:
    """The flags that an instruction leaves undefined: its section "Flags Affected" in Volume 2.

    What bsf and bsr leave in their destination where the source is zero is compared: AMD's manual
    defines it (AMD64 Architecture Programmer's Manual, Volume 3, "BSF").
    """
    reader, _ = _read(code)
    match reader.opcode:
        case (opcode,) if opcode in _ARITHMETIC and opcode >> 3 in _LOGICAL:
            return ("af",)
        case (0x80 | 0x81 | 0x83, operation) if operation in _LOGICAL:
            return ("af",)
        case (0x84 | 0x85 | 0xA8 | 0xA9,) | (0xF6 | 0xF7, 0 | 1):
            return ("af",)
        case (0xF6 | 0xF7, 4 | 5) | (0x69 | 0x6B,) | (0x0F, 0xAF):
            return _PRODUCT
        case (0xF6 | 0xF7, 6 | 7):
            return _ALL
        case (0xC0 | 0xC1, operation):
            return _shifted(reader, operation, code[-1])
        case (0xD0 | 0xD1, operation):
            return _shifted(reader, operation, 1)
        case (0xD2 | 0xD3, operation):
            return _shifted(reader, operation, registers["rcx"])
        case (0x0F, 0xA4 | 0xAC):
            return _shifted(reader, _SHIFT, code[-1])
        case (0x0F, 0xA5 | 0xAD):
            return _shifted(reader, _SHIFT, registers["rcx"])
        case (0x0F, 0xA3 | 0xAB | 0xB3 | 0xBB) | (0x0F, 0xBA, _):
            return _BIT_TEST
        case (0x0F, 0xBC | 0xBD):
            return _BIT_TEST if 0xF3 in reader.prefixes else ("cf", *_BIT_TEST)
    return ()


_SHIFT, _ARITHMETIC_SHIFT = 4, 7
"""shl and sar among the operations of the shifts, of which the first four are rotates."""


def _shifted(reader: _Reader, operation: int, amount: int) -> tuple[str, ...]:
    """What a shift or rotate by an amount leaves undefined."""
    count = amount & (63 if reader.rex & 8 else 31)
    if not count:
        return ()
    overflow = () if count == 1 else ("of",)
    if operation < _SHIFT:
        return overflow
    carry = ("cf",) if operation != _ARITHMETIC_SHIFT and count >= reader.width else ()
    return (*overflow, *carry, "af")


ENCODING = _X86(
    formats=(),
    order="big",
    trap=b"\x06",  # push es, in 64-bit mode
    # Volume 1, section 3.4.3: the arithmetic flags, the direction flag and the alignment check.
    settable={"eflags": 0x40CD5},
    undefined=_undefined,
)
