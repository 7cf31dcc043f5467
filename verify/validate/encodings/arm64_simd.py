"""The formats of AArch64's vector instructions, Advanced SIMD.

Arm Architecture Reference Manual for A-profile, "Data Processing -- Scalar Floating-Point and
Advanced SIMD", and the structures of "Loads and Stores". Where a field has both an amount and the
size of the elements, the size is opcode.
"""

from __future__ import annotations

from verify.validate.encodings.model import Format

_RD = (0, 5)
_RN = (5, 5)
_RM = (16, 5)
_ALL = (0, 0xFFFFFFFF)


def _ext(word: int) -> bool:
    """In a vector of 64 bits there are 8 bytes to begin at."""
    return bool(word >> 30 & 1) or not word >> 14 & 1


def _structures(name: str, select: int, value: int) -> tuple[Format, ...]:
    """Loads or stores of structures: by one address, with an immediate added to it, a register."""
    indexed = value | 0x00800000
    return (
        Format(name, *_ALL, (_RD, _RN), (), select | 0x009F0000, value),
        Format(name, *_ALL, (_RD, _RN), (), select | 0x009F0000, indexed | 0x001F0000),
        Format(name, *_ALL, (_RD, _RN, _RM), (), select | 0x00800000, indexed),
    )


def _by_immediate(name: str, select: int, value: int) -> tuple[Format, ...]:
    """Shifts by an amount in the low bits of a field, below the highest bit of it that is set."""
    return tuple(
        Format(
            name,
            *_ALL,
            (_RD, _RN),
            ((16, bits),),
            select | 0x780000 & -1 << 16 + bits,
            value | 1 << 16 + bits,
        )
        for bits in (6, 5, 4, 3)
    )


SIMD = (
    *_structures("Advanced SIMD load/store multiple structures", 0xBF200000, 0x0C000000),
    *_structures("Advanced SIMD load/store single structure", 0xBF000000, 0x0D000000),
    Format(
        "Advanced SIMD extract", *_ALL, (_RD, _RN, _RM), ((11, 4),), 0xBFE08400, 0x2E000000, _ext
    ),
    Format("Advanced SIMD table lookup", *_ALL, (_RD, _RN, _RM), (), 0xBFE08C00, 0x0E000000),
    Format("Advanced SIMD permute", *_ALL, (_RD, _RN, _RM), (), 0xBF208C00, 0x0E000800),
    Format("Advanced SIMD copy", *_ALL, (_RD, _RN), (), 0x9FE08400, 0x0E000400),
    Format("Advanced SIMD scalar copy", *_ALL, (_RD, _RN), (), 0xFFE08400, 0x5E000400),
    Format(
        "Advanced SIMD two-register miscellaneous", *_ALL, (_RD, _RN), (), 0x9F3E0C00, 0x0E200800
    ),
    Format(
        "Advanced SIMD scalar two-register miscellaneous",
        *_ALL,
        (_RD, _RN),
        (),
        0xDF3E0C00,
        0x5E200800,
    ),
    Format("Advanced SIMD across lanes", *_ALL, (_RD, _RN), (), 0x9F3E0C00, 0x0E300800),
    Format("Advanced SIMD scalar pairwise", *_ALL, (_RD, _RN), (), 0xDF3E0C00, 0x5E300800),
    Format("Advanced SIMD three different", *_ALL, (_RD, _RN, _RM), (), 0x9F200C00, 0x0E200000),
    Format(
        "Advanced SIMD scalar three different", *_ALL, (_RD, _RN, _RM), (), 0xDF200C00, 0x5E200000
    ),
    Format("Advanced SIMD three same", *_ALL, (_RD, _RN, _RM), (), 0x9F200400, 0x0E200400),
    Format("Advanced SIMD scalar three same", *_ALL, (_RD, _RN, _RM), (), 0xDF200400, 0x5E200400),
    *_by_immediate("Advanced SIMD shift by immediate", 0x9F800400, 0x0F000400),
    *_by_immediate("Advanced SIMD scalar shift by immediate", 0xDF800400, 0x5F000400),
    Format(
        "Advanced SIMD modified immediate", *_ALL, (_RD,), ((5, 5), (16, 3)), 0x9FF80400, 0x0F000400
    ),
    Format(
        "Conversion between floating-point and integer",
        *_ALL,
        (_RD, _RN),
        (),
        0x5F20FC00,
        0x1E200000,
    ),
)
