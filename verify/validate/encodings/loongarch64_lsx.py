"""The formats of LoongArch's vector instructions of 128 bits, LSX.

The encodings are those of LLVM's assembler (ziglang 0.17.1). vld, vst, vldx and vstx have formats
of the manual's Volume 1.
"""

from __future__ import annotations

from verify.validate.encodings.model import Field, Format

_VD = (0, 5)
_VJ = (5, 5)
_VK = (10, 5)
_VA = (15, 5)

_Cases = tuple[tuple[int, int, int], ...]

# Of a field at bit 10: how many bits it has, and the bits above it, with those that select.
_AMOUNTS: _Cases = (
    (3, 0x02000, 0x1E000),
    (4, 0x04000, 0x1C000),
    (5, 0x08000, 0x18000),
    (6, 0x10000, 0x10000),
)
_NUMBERS: _Cases = (
    (4, 0x8000, 0xC000),
    (3, 0xC000, 0xE000),
    (2, 0xE000, 0xF000),
    (1, 0xF000, 0xF800),
)


def _by_width(name: str, first: int, last: int, cases: _Cases) -> tuple[Format, ...]:
    return tuple(
        Format(name, first, last, (_VD, _VJ), ((10, bits),), select, value)
        for bits, value, select in cases
    )


def _memory(name: str, opcode: int, *immediates: Field) -> Format:
    """The format of one instruction: whatever is not in its opcode is an operand."""
    operands = sum((1 << width) - 1 << low for low, width in (_VD, _VJ, *immediates))
    return Format(name, opcode, opcode | operands, (_VD, _VJ), immediates)


def _defined_constant(word: int) -> bool:
    """Whether the mode of vldi is not reserved."""
    return word >> 13 & 15 <= 12


VECTOR_FORMATS = (
    Format("4R", 0x0D100000, 0x0D1FFFFF, (_VD, _VJ, _VK, _VA)),
    Format("4R", 0x0D500000, 0x0D5FFFFF, (_VD, _VJ, _VK, _VA)),
    _memory("2RI9", 0x30100000, (10, 9)),
    _memory("2RI10", 0x30200000, (10, 10)),
    _memory("2RI11", 0x30400000, (10, 11)),
    _memory("2RI12", 0x30800000, (10, 12)),
    _memory("2RI8I1", 0x31100000, (10, 8), (18, 1)),
    _memory("2RI8I2", 0x31200000, (10, 8), (18, 2)),
    _memory("2RI8I3", 0x31400000, (10, 8), (18, 3)),
    _memory("2RI8I4", 0x31800000, (10, 8), (18, 4)),
    Format("3R", 0x70000000, 0x717BFFFF, (_VD, _VJ, _VK)),
    Format("2RI5", 0x72800000, 0x728EFFFF, (_VD, _VJ), ((10, 5),)),
    Format("2R", 0x729C0000, 0x729FFFFF, (_VD, _VJ)),
    *_by_width("2R amount", 0x72A00000, 0x72A1FFFF, _AMOUNTS),
    *_by_width("2R number", 0x72EB8000, 0x72F7FFFF, _NUMBERS),
    *_by_width("2R amount", 0x732C0000, 0x7335FFFF, _AMOUNTS),
    Format("2RI8", 0x73800000, 0x739FFFFF, (_VD, _VJ), ((10, 8),)),
    Format("2RI8", 0x73C40000, 0x73DFFFFF, (_VD, _VJ), ((10, 8),)),
    # vldi: the mode chooses how the value is spread
    Format("1RI10", 0x73E00000, 0x73E1FFFF, (_VD,), ((5, 10),)),
    Format("1RI8", 0x73E20000, 0x73E3FFFF, (_VD,), ((5, 8),), defined=_defined_constant),
    Format("2RI8", 0x73E40000, 0x73E7FFFF, (_VD, _VJ), ((10, 8),)),
)
