"""AArch64's instruction formats.

Arm Architecture Reference Manual for A-profile, "A64 Instruction Set Encoding": the names are those
of its groups. The instructions of Advanced SIMD are in `arm64_simd`.
"""

from __future__ import annotations

from verify.validate.encodings.arm64_simd import SIMD
from verify.validate.encodings.model import Encoding, Format

_RD = (0, 5)
_RN = (5, 5)
_RA = (10, 5)
_RM = (16, 5)
_STACK_POINTER = 31


def _field(word: int, low: int, width: int) -> int:
    return word >> low & (1 << width) - 1


def _amount_fits(word: int) -> bool:
    """A shift in a register of 32 bits is by less than 32."""
    return word >> 31 == 1 or not word >> 15 & 1


def _logical_immediate(word: int) -> bool:
    """The pseudocode function DecodeBitMasks has a result."""
    n, imms = _field(word, 22, 1), _field(word, 10, 6)
    if n > word >> 31:
        return False
    length = (n << 6 | imms ^ 0x3F).bit_length() - 1
    return length > 0 and imms & (1 << length) - 1 != (1 << length) - 1


def _move_wide(word: int) -> bool:
    return word >> 31 == 1 or _field(word, 21, 2) < 2


def _bit_field(word: int) -> bool:
    return word >> 31 == 1 or not (word >> 21 & 1 or word >> 15 & 1)


def _extended(word: int) -> bool:
    return _field(word, 10, 3) <= 4


def _pair(word: int) -> bool:
    """Not both loaded into one register, nor the base both transferred and written back."""
    first, second, base = _field(word, 0, 5), _field(word, 10, 5), _field(word, 5, 5)
    vector, writes_back, load = word >> 26 & 1, word >> 23 & 1, word >> 22 & 1
    if load and first == second:
        return False
    return bool(vector) or not writes_back or base == _STACK_POINTER or base not in (first, second)


def _writing_back(word: int) -> bool:
    """The base is not both transferred and written back."""
    base = _field(word, 5, 5)
    return bool(word >> 26 & 1) or base == _STACK_POINTER or base != _field(word, 0, 5)


_ALL = (0, 0xFFFFFFFF)

_FORMATS = (
    Format("PC-rel. addressing", *_ALL, (_RD,), ((5, 19), (29, 2)), 0x1F000000, 0x10000000),
    Format(
        "Add/subtract (immediate)", *_ALL, (_RD, _RN), ((10, 12), (22, 1)), 0x1F800000, 0x11000000
    ),
    Format(
        "Logical (immediate)",
        *_ALL,
        (_RD, _RN),
        ((10, 13),),
        0x1F800000,
        0x12000000,
        _logical_immediate,
    ),
    Format(
        "Move wide (immediate)",
        *_ALL,
        (_RD,),
        ((5, 16), (21, 2)),
        0x1F800000,
        0x12800000,
        _move_wide,
    ),
    Format("Bitfield", *_ALL, (_RD, _RN), ((10, 6), (16, 6)), 0x1F800000, 0x13000000, _bit_field),
    Format("Extract", *_ALL, (_RD, _RN, _RM), ((10, 6),), 0x1F800000, 0x13800000, _amount_fits),
    Format(
        "Logical (shifted register)",
        *_ALL,
        (_RD, _RN, _RM),
        ((10, 6),),
        0x1F000000,
        0x0A000000,
        _amount_fits,
    ),
    Format(
        "Add/subtract (shifted register)",
        *_ALL,
        (_RD, _RN, _RM),
        ((10, 6),),
        0x1F200000,
        0x0B000000,
        _amount_fits,
    ),
    Format(
        "Add/subtract (extended register)",
        *_ALL,
        (_RD, _RN, _RM),
        ((10, 3),),
        0x1FE00000,
        0x0B200000,
        _extended,
    ),
    Format("Add/subtract (with carry)", *_ALL, (_RD, _RN, _RM), (), 0x1FE0FC00, 0x1A000000),
    Format(
        "Conditional compare (register)",
        *_ALL,
        (_RN, _RM),
        ((0, 4), (12, 4)),
        0x1FE00C10,
        0x1A400000,
    ),
    Format(
        "Conditional compare (immediate)",
        *_ALL,
        (_RN,),
        ((0, 4), (12, 4), (16, 5)),
        0x1FE00C10,
        0x1A400800,
    ),
    Format("Conditional select", *_ALL, (_RD, _RN, _RM), ((12, 4),), 0x1FE00800, 0x1A800000),
    Format("Data-processing (1 source)", *_ALL, (_RD, _RN), (), 0x5FE00000, 0x5AC00000),
    Format("Data-processing (2 source)", *_ALL, (_RD, _RN, _RM), (), 0x5FE00000, 0x1AC00000),
    Format("Data-processing (3 source)", *_ALL, (_RD, _RN, _RA, _RM), (), 0x1F000000, 0x1B000000),
    Format("Conditional branch (immediate)", *_ALL, (), ((0, 4), (5, 19)), 0xFF000010, 0x54000000),
    Format("Unconditional branch (immediate)", *_ALL, (), ((0, 26),), 0x7C000000, 0x14000000),
    Format("Compare and branch (immediate)", *_ALL, (_RD,), ((5, 19),), 0x7E000000, 0x34000000),
    Format(
        "Test and branch (immediate)",
        *_ALL,
        (_RD,),
        ((5, 14), (19, 5), (31, 1)),
        0x7E000000,
        0x36000000,
    ),
    Format("Unconditional branch (register)", *_ALL, (_RN,), (), 0xFF9FFC1F, 0xD61F0000),
    Format("System register move", *_ALL, (_RD,), (), 0xFFD00000, 0xD5100000),
    Format(
        "Load/store register pair",
        *_ALL,
        (_RD, _RN, _RA),
        ((15, 7),),
        0x3A000000,
        0x28000000,
        _pair,
    ),
    # Unscaled and unprivileged, then those that write the base back.
    Format("Load/store register (offset)", *_ALL, (_RD, _RN), ((12, 9),), 0x3B200400, 0x38000000),
    Format(
        "Load/store register (pre- and post-indexed)",
        *_ALL,
        (_RD, _RN),
        ((12, 9),),
        0x3B200400,
        0x38000400,
        _writing_back,
    ),
    Format(
        "Load/store register (register offset)",
        *_ALL,
        (_RD, _RN, _RM),
        (),
        0x3B200C00,
        0x38200800,
    ),
    Format(
        "Load/store register (unsigned immediate)",
        *_ALL,
        (_RD, _RN),
        ((10, 12),),
        0x3B000000,
        0x39000000,
    ),
    *SIMD,
)

ENCODING = Encoding(
    formats=_FORMATS,
    order="little",
    trap=(0xD4200000).to_bytes(4, "little"),
    # Sections "NZCV", "FPCR" (alternative formats, default NaN, flush to zero, rounding mode) and
    # "FPSR" (saturation and the cumulative exceptions): the bits that QEMU has.
    settable={"nzcv": 0xF0000000, "fpcr": 0x07C00000, "fpsr": 0x0800009F},
)
