"""What the bytes of an x86-64 instruction say of alignment and undefined flags.

"Intel 64 and IA-32 Architectures Software Developer's Manual", Volume 2: chapter 2 (instruction
format), appendix A (opcode maps), and the sections "Flags Affected" of the instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))
OPERAND_SIZE = 0x66
ESCAPE = 0x0F
LONGER_ESCAPES = (0x38, 0x3A)
"""The second byte of an opcode of three."""

_VECTOR_BYTES = 16
_UNALIGNED = frozenset(((0x0F, 0x10), (0x0F, 0x11)))
"""movups and movupd."""
_UNALIGNED_WITH = {(0x0F, 0x6F): 0xF3, (0x0F, 0x7F): 0xF3, (0x0F, 0xF0): 0xF2}
"""movdqu and lddqu, which differ by a prefix from those that need alignment."""
_STRINGS = range(0x60, 0x64)
"""pcmpestrm, pcmpestri, pcmpistrm, pcmpistri, behind 0F 3A."""


@dataclass(frozen=True)
class Opening:
    """An instruction up to its opcode: the bytes of the opcode, REX or 0, and the byte behind the
    opcode, in which some have an extension of it, or -1. `size` is the number of bytes up to the
    opcode and with it."""

    prefixes: frozenset[int]
    rex: int
    opcode: tuple[int, ...]
    behind: int
    size: int

    @property
    def extension(self) -> int:
        """The field reg of ModRM."""
        return self.behind >> 3 & 7

    @property
    def width(self) -> int:
        """The width in bits of the operands of an instruction whose opcode is even for bytes."""
        if not self.opcode[-1] & 1:
            return 8
        if self.rex & 8:
            return 64
        return 16 if OPERAND_SIZE in self.prefixes else 32


def opening(code: bytes) -> Opening:
    """The opening of an instruction; raises IndexError where the bytes end within it."""
    at = 0
    while code[at] in PREFIXES:
        at += 1
    prefixes, rex = frozenset(code[:at]), 0
    if code[at] & 0xF0 == 0x40:
        rex = code[at]
        at += 1
    length = 1
    if code[at] == ESCAPE:
        length = 3 if code[at + 1] in LONGER_ESCAPES else 2
    size = at + length
    if len(code) < size:
        raise IndexError
    behind = code[size] if size < len(code) else -1
    return Opening(prefixes, rex, tuple(code[at:size]), behind, size)


def alignment(code: bytes, size: int) -> int:
    """The alignment in bytes that the instruction needs of an access to `size` bytes.

    Operands of 16 bytes of SSE need it (Volume 1, section 4.1.1, "Alignment of Words, Doublewords,
    Quadwords, and Double Quadwords"), those that are encoded with VEX do not.
    """
    if size != _VECTOR_BYTES:
        return 1
    start = opening(code)
    opcode = start.opcode
    if opcode[0] != ESCAPE or opcode in _UNALIGNED:
        return 1
    if _UNALIGNED_WITH.get((opcode[0], opcode[1])) in start.prefixes:
        return 1
    return 1 if opcode[1] == 0x3A and opcode[2] in _STRINGS else _VECTOR_BYTES


_ARITHMETIC = range(0x40)
_LOGICAL = (1, 4, 6)
"""or, and, xor among the eight operations of the arithmetic opcodes."""
_SHIFT, _ARITHMETIC_SHIFT = 4, 7
"""shl and sar among the operations of the shifts, of which the first four are rotates."""
_PRODUCT = ("sf", "zf", "af", "pf")
_ALL = ("cf", "pf", "af", "zf", "sf", "of")
_BIT_TEST = ("of", "sf", "af", "pf")


def undefined_flags(code: bytes) -> tuple[str, ...]:
    """The flags that the instruction leaves undefined, or may leave, if a register decides it.

    What bsf and bsr leave in their destination where the source is zero is not among it: AMD's
    manual defines it (AMD64 Architecture Programmer's Manual, Volume 3, "BSF").
    """
    start = opening(code)
    extension = start.extension
    match start.opcode:
        case (opcode,) if opcode in _ARITHMETIC and opcode & 7 < 6:
            return ("af",) if opcode >> 3 in _LOGICAL else ()
        case (0x80 | 0x81 | 0x83,):
            return ("af",) if extension in _LOGICAL else ()
        case (0x84 | 0x85 | 0xA8 | 0xA9,):
            return ("af",)
        case (0xF6 | 0xF7,):
            return {0: ("af",), 1: ("af",), 4: _PRODUCT, 5: _PRODUCT, 6: _ALL, 7: _ALL}.get(
                extension, ()
            )
        case (0x69 | 0x6B,) | (0x0F, 0xAF):
            return _PRODUCT
        case (0xC0 | 0xC1,):
            return _shifted(start, extension, code[-1])
        case (0xD0 | 0xD1,):
            return _shifted(start, extension, 1)
        case (0xD2 | 0xD3,):
            return _shifted(start, extension, None)
        case (0x0F, 0xA4 | 0xAC):
            return _shifted(start, _ARITHMETIC_SHIFT, code[-1])
        case (0x0F, 0xA5 | 0xAD):
            return _shifted(start, _ARITHMETIC_SHIFT, None)
        case (0x0F, 0xA3 | 0xAB | 0xB3 | 0xBB | 0xBA):
            return _BIT_TEST
        case (0x0F, 0xBC | 0xBD):
            return _BIT_TEST if 0xF3 in start.prefixes else ("cf", *_BIT_TEST)
    return ()


def _shifted(start: Opening, operation: int, amount: int | None) -> tuple[str, ...]:
    """What a shift or rotate leaves undefined, by an amount that is None where a register has it.

    Shifts of two registers count as arithmetic ones: their operands have more than 31 bits, but for
    those of 16 bits, which are not read.
    """
    count = amount if amount is None else amount & (63 if start.rex & 8 else 31)
    if count == 0:
        return ()
    overflow = () if count == 1 else ("of",)
    if operation < _SHIFT:
        return overflow
    beyond = start.width < 32 if count is None else count >= start.width
    carry = ("cf",) if operation != _ARITHMETIC_SHIFT and beyond else ()
    return (*overflow, *carry, "af")
