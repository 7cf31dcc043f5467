"""PowerPC's instruction formats.

Power ISA 3.1, Book I, section 1.6 (formats), and the appendix with the opcode maps. Bits are
numbered here from the least significant one, there from the most significant one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from verify.validate.encodings.model import Encoding, Field, Format, always

_RT = (21, 5)
_RA = (16, 5)
_RB = (11, 5)
_RC = (6, 5)
_BF = (23, 3)
_BI = (16, 5)


def _ra(word: int) -> int:
    return word >> 16 & 31


def _rt(word: int) -> int:
    return word >> 21 & 31


def _load_with_update(word: int) -> bool:
    return _ra(word) not in (0, _rt(word))


def _store_with_update(word: int) -> bool:
    return _ra(word) != 0


def _multiple(word: int) -> bool:
    """lmw must not load its own base."""
    return _ra(word) < _rt(word)


def _primary(  # one for each column of the table
    name: str,
    opcode: int,
    registers: tuple[Field, ...],
    immediates: tuple[Field, ...] = (),
    select: int = 0,
    value: int = 0,
    defined: Callable[[int], bool] = always,
) -> Format:
    first = opcode << 26
    return Format(name, first, first | 0x03FFFFFF, registers, immediates, select, value, defined)


def _displacement(opcode: int, defined: Callable[[int], bool] = always) -> Format:
    return _primary("D", opcode, (_RT, _RA), ((0, 16),), defined=defined)


def _extended(
    name: str,
    extended: int,
    registers: tuple[Field, ...],
    immediates: tuple[Field, ...] = (),
    defined: Callable[[int], bool] = always,
) -> Format:
    """Primary opcode 31 with an extended opcode of 10 bits."""
    return _primary(name, 31, registers, immediates, 0x7FE, extended << 1, defined)


_UPDATING_LOADS = (33, 35, 41, 43, 49, 51)
_UPDATING_STORES = (37, 39, 45, 53, 55)
# lbzux, lhzux, lhaux, lwzux, lwaux, ldux; stbux, sthux, stwux, stdux
_UPDATING_INDEXED_LOADS = (119, 311, 375, 55, 373, 53)
_UPDATING_INDEXED_STORES = (247, 439, 183, 181)
# addze, addme, subfze, subfme, neg, each without and with OE
_WITHOUT_RB = tuple(n + overflow for n in (202, 234, 200, 232, 104) for overflow in (0, 512))
# extsb, extsh, extsw, cntlzw, cntlzd, cnttzw, cnttzd, popcntb, popcntw, popcntd
_UNARY = (954, 922, 986, 26, 58, 538, 570, 122, 378, 506)

_FORMATS = (
    _primary("D", 7, (_RT, _RA), ((0, 16),)),
    _primary("D", 8, (_RT, _RA), ((0, 16),)),
    # The bit in front of the immediate's register is reserved, the next chooses the width.
    _primary("D", 10, (_BF, _RA), ((0, 16),)),
    _primary("D", 11, (_BF, _RA), ((0, 16),)),
    *(_displacement(opcode) for opcode in (12, 13, 14, 15)),
    _primary("B", 16, (_BI,), ((2, 14),)),
    _primary("I", 18, (), ((2, 24),)),
    _primary("XL branch", 19, (_BI,), (), 0x7FE, 16 << 1),
    _primary("XL branch", 19, (_BI,), (), 0x7FE, 528 << 1),
    _primary("XL move", 19, (_BF, (18, 3)), (), 0x7FE, 0),
    *(
        _primary("XL logical", 19, (_RT, _RA, _RB), (), 0x7FE, n << 1)
        for n in (33, 129, 193, 225, 257, 289, 417, 449)
    ),
    *(_primary("M", n, (_RT, _RA), ((11, 5), (6, 5), (1, 5))) for n in (20, 21)),
    _primary("M", 23, (_RT, _RA, _RB), ((6, 5), (1, 5))),
    *(_displacement(opcode) for opcode in range(24, 30)),
    _primary("MD", 30, (_RT, _RA), ((11, 5), (5, 6), (1, 1)), 0x10, 0),
    _primary("MDS", 30, (_RT, _RA, _RB), ((5, 6),), 0x10, 0x10),
    _extended("X compare", 0, (_BF, _RA, _RB)),
    _extended("X compare", 32, (_BF, _RA, _RB)),
    *(_extended("XFX", n, (_RT,)) for n in (339, 467, 19, 144)),
    *(_extended("XO", n, (_RT, _RA)) for n in _WITHOUT_RB),
    *(_extended("X", n, (_RT, _RA)) for n in _UNARY),
    _extended("X", 824, (_RT, _RA), ((11, 5),)),
    _primary("XS", 31, (_RT, _RA), ((11, 5), (1, 1)), 0x7FC, 413 << 2),
    _primary("XS", 31, (_RT, _RA), ((11, 5), (1, 1)), 0x7FC, 445 << 2),
    *(_extended("X", n, (_RT, _RA, _RB), (), _load_with_update) for n in _UPDATING_INDEXED_LOADS),
    *(_extended("X", n, (_RT, _RA, _RB), (), _store_with_update) for n in _UPDATING_INDEXED_STORES),
    _primary("A", 31, (_RT, _RA, _RB, _RC), (), 0x3E, 15 << 1),
    _primary("X", 31, (_RT, _RA, _RB)),
    *(
        _displacement(opcode, _load_with_update if opcode in _UPDATING_LOADS else always)
        for opcode in (32, 33, 34, 35, 40, 41, 42, 43, 48, 49, 50, 51)
    ),
    *(
        _displacement(opcode, _store_with_update if opcode in _UPDATING_STORES else always)
        for opcode in (36, 37, 38, 39, 44, 45, 52, 53, 54, 55)
    ),
    _displacement(46, _multiple),
    _displacement(47),
    _primary("DS", 58, (_RT, _RA), ((2, 14),), 0x3, 1, _load_with_update),
    _primary("DS", 58, (_RT, _RA), ((2, 14),)),
    _primary("DQ", 61, (_RT, _RA), ((3, 1), (4, 12)), 0x3, 1),
    _primary("DS", 61, (_RT, _RA), ((2, 14),)),
    _primary("DS", 62, (_RT, _RA), ((2, 14),), 0x3, 1, _store_with_update),
    _primary("DS", 62, (_RT, _RA), ((2, 14),), 0x3, 0),
    _primary("VA", 4, (_RT, _RA, _RB), ((6, 4),), 0x3F, 44),
    _primary("VA", 4, (_RT, _RA, _RB, _RC), (), 0x20, 0x20),
    # vspltisb, vspltish, vspltisw; vspltb, vsplth, vspltw
    *(_primary("VX", 4, (_RT,), ((16, 5),), 0x7FF, n) for n in (780, 844, 908)),
    _primary("VX", 4, (_RT, _RB), ((16, 4),), 0x7FF, 524),
    _primary("VX", 4, (_RT, _RB), ((16, 3),), 0x7FF, 588),
    _primary("VX", 4, (_RT, _RB), ((16, 2),), 0x7FF, 652),
    _primary("VX", 4, (_RT, _RA, _RB)),
    # xxspltw
    _primary("XX2", 60, (_RT, _RB), ((16, 2), (0, 2)), 0x7FC, 164 << 2),
    _primary("XX4", 60, (_RT, _RA, _RB, _RC), ((0, 4),), 0x30, 0x30),
    _primary("XX3", 60, (_RT, _RA, _RB), ((0, 3),)),
)

_TRAP = 0x7FE00008


def encoding(byte_order: Literal["little", "big"]) -> Encoding:
    """The formats, with instructions in the byte order of data."""
    return Encoding(
        formats=_FORMATS,
        order=byte_order,
        trap=_TRAP.to_bytes(4, byte_order),
        # Book I, section 3.2.2: SO, OV, CA and the number of bytes of a string; the others are
        # reserved, or copies of OV and CA for 32 bits since version 3.0.
        settable={"xer": 0xE000007F},
    )
