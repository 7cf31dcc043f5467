"""LoongArch's instruction formats.

"LoongArch Reference Manual, Volume 1: Basic Architecture", version 1.10, sections 1.2 (formats)
and Appendix B (table of the encodings). The formats of
vector instructions are in a file of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from verify.arch.loongarch64 import LOONGARCH64
from verify.validate.encodings.loongarch64_lsx import VECTOR_FORMATS
from verify.validate.encodings.model import Encoding, Format

_RD = (0, 5)
_RJ = (5, 5)
_RK = (10, 5)
_RA = (15, 5)
_GENERAL = tuple(register.name for register in LOONGARCH64.registers[:32])


def _word_field(word: int) -> bool:
    """Whether the field's most significant bit is not below its least significant one."""
    return word >> 16 & 31 >= word >> 10 & 31


def _double_field(word: int) -> bool:
    """The same for the wider field numbers."""
    return word >> 16 & 63 >= word >> 10 & 63


def _atomic(word: int) -> bool:
    """Volume 1, section 2.2.7.1: rd is neither rj nor rk, unless it is $zero."""
    return not word & 31 or word & 31 not in (word >> 5 & 31, word >> 10 & 31)


_DIVISIONS = range(0x0020_0000, 0x0024_0000, 0x8000)
_OF_WORDS = _DIVISIONS[:4]


def _undefined(code: bytes, registers: Mapping[str, int]) -> tuple[str, ...]:
    """Volume 1, section 2.2.1.13: the result of a division by zero, and of one of words whose
    operands are no sign-extended words."""
    word = int.from_bytes(code, "little")
    if word & 0xFFFF_8000 not in _DIVISIONS:
        return ()
    dividend, divisor = (registers.get(_GENERAL[word >> at & 31], 0) for at in (5, 10))
    words = word & 0xFFFF_8000 in _OF_WORDS
    wide = any((value + (1 << 31)) % (1 << 64) >> 32 for value in (dividend, divisor))
    return (_GENERAL[word & 31],) if not divisor or (words and wide) else ()


_FORMATS = (
    Format("2R", 0x00001000, 0x00007FFF, (_RD, _RJ)),
    Format("3R-sa2", 0x00040000, 0x0009FFFF, (_RD, _RJ, _RK), ((15, 2),)),
    Format("3R-sa3", 0x000C0000, 0x000FFFFF, (_RD, _RJ, _RK), ((15, 3),)),
    Format("3R", 0x00100000, 0x0027FFFF, (_RD, _RJ, _RK)),
    Format("3R-sa2", 0x002C0000, 0x002DFFFF, (_RD, _RJ, _RK), ((15, 2),)),
    Format("2RI5", 0x00400000, 0x004FFFFF, (_RD, _RJ), ((10, 5),), 0x00018000, 0x00008000),
    Format("2RI6", 0x00400000, 0x004FFFFF, (_RD, _RJ), ((10, 6),), 0x00010000, 0x00010000),
    Format(
        "bit field of a word",
        0x00600000,
        0x007FFFFF,
        (_RD, _RJ),
        ((10, 5), (16, 5)),
        defined=_word_field,
    ),
    Format(
        "bit field of a doubleword",
        0x00800000,
        0x00FFFFFF,
        (_RD, _RJ),
        ((10, 6), (16, 6)),
        defined=_double_field,
    ),
    Format("3R", 0x01008000, 0x0113FFFF, (_RD, _RJ, _RK)),
    # movgr2fcsr, movfcsr2gr: which of the registers for control and status is no operand
    Format("1R to fcsr", 0x0114C000, 0x0114C3FF, (_RJ,)),
    Format("1R from fcsr", 0x0114C800, 0x0114CBFF, (_RD,)),
    Format("1R to condition", 0x0114D000, 0x0114D3FF, ((0, 3), _RJ)),
    Format("1R from condition", 0x0114D400, 0x0114D7FF, (_RD, (5, 3))),
    Format("1R to condition", 0x0114D800, 0x0114DBFF, ((0, 3), _RJ)),
    Format("1R from condition", 0x0114DC00, 0x0114DFFF, (_RD, (5, 3))),
    Format("2R", 0x01140000, 0x011EFFFF, (_RD, _RJ)),
    Format("2RI12", 0x02000000, 0x03FFFFFF, (_RD, _RJ), ((10, 12),)),
    Format("4R", 0x08000000, 0x0BFFFFFF, (_RD, _RJ, _RK, _RA)),
    Format("fcmp", 0x0C000000, 0x0CFFFFFF, ((0, 3), _RJ, _RK)),
    Format("fsel", 0x0D000000, 0x0D03FFFF, (_RD, _RJ, _RK, (15, 3))),
    Format("2RI16", 0x10000000, 0x13FFFFFF, (_RD, _RJ), ((10, 16),)),
    Format("1RI20", 0x14000000, 0x1FFFFFFF, (_RD,), ((5, 20),)),
    Format("2RI14", 0x20000000, 0x27FFFFFF, (_RD, _RJ), ((10, 14),)),
    Format("2RI12", 0x28000000, 0x2FFFFFFF, (_RD, _RJ), ((10, 12),)),
    Format("3R atomic", 0x38578000, 0x386FFFFF, (_RD, _RJ, _RK), defined=_atomic),
    Format("3R", 0x38000000, 0x3871FFFF, (_RD, _RJ, _RK)),
    Format("1RI21", 0x40000000, 0x47FFFFFF, (_RJ,), ((0, 5), (10, 16))),
    Format("1RI21 condition", 0x48000000, 0x4BFFFFFF, ((5, 3),), ((0, 5), (10, 16))),
    Format("2RI16", 0x4C000000, 0x4FFFFFFF, (_RD, _RJ), ((10, 16),)),
    Format("I26", 0x50000000, 0x57FFFFFF, (), ((0, 26),)),
    Format("2RI16", 0x58000000, 0x6FFFFFFF, (_RD, _RJ), ((10, 16),)),
)

ENCODING = Encoding(
    formats=(*_FORMATS, *VECTOR_FORMATS),
    order="little",
    trap=(0x002A0000).to_bytes(4, "little"),
    # Volume 1, section 3.1.2: flags, causes and rounding mode; with an enable bit set, arithmetic
    # traps.
    settable={"fcsr": 0x1F1F0300},
    undefined=_undefined,
)
