"""s390x's instruction formats.

z/Architecture Principles of Operation (SA22-7832), chapter 5, "Instruction Formats", and the
description of each instruction. Bits are numbered here from the least significant one, there from
the most significant one. Where an immediate or a displacement is the number of an element or a bit
of an element, the bits with which it would be none count as opcode, and so do sizes of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from verify.validate.encodings.model import Encoding, Field, Format, always

Fields = tuple[Field, ...]

_R1, _R2, _R3 = (36, 4), (32, 4), (28, 4)
"""Registers of an instruction of six bytes; the third one is a base, the second often an index."""
_DISPLACEMENT: Fields = ((16, 12),)
_LONG_DISPLACEMENT: Fields = ((16, 12), (8, 8))
# The number of a vector register has its most significant bit in the field RXB.
_V1: Fields = (_R1, (11, 1))
_V2: Fields = (_R2, (10, 1))
_V3: Fields = (_R3, (9, 1))
_V4: Fields = ((12, 4), (8, 1))
_SIZES = range(4)
"""Sizes of elements: bytes, halfwords, words, doublewords."""


def _formats(  # one for each column of the table
    name: str,
    size: int,
    mask: int,
    codes: Iterable[int],
    registers: Fields,
    immediates: Fields = (),
    defined: Callable[[int], bool] = always,
) -> Iterator[Format]:
    """A format for each operation code, whose bits under the mask those of `codes` are."""
    for code in codes:
        last = (1 << 8 * size) - 1
        yield Format(name, 0, last, registers, immediates, mask, code, defined, size)


def _two(codes: Iterable[int]) -> Iterator[Format]:
    return _formats("RR", 2, 0xFF00, (n << 8 for n in codes), ((4, 4), (0, 4)))


def _four(codes: Iterable[int]) -> Iterator[Format]:
    fields = (20, 4), (16, 4), (12, 4)
    return _formats("RX", 4, 0xFF00_0000, (n << 24 for n in codes), fields, ((0, 12),))


def _extended(name: str, codes: Iterable[int], registers: Fields) -> Iterator[Format]:
    """Four bytes of which the first two are the code."""
    return _formats(name, 4, 0xFFFF_0000, (n << 16 for n in codes), registers)


def _six(
    name: str,
    code: int,
    seconds: Iterable[int],
    registers: Fields,
    immediates: Fields = (),
    defined: Callable[[int], bool] = always,
) -> Iterator[Format]:
    """Six bytes of which the first and the last are the code."""
    codes = (code << 40 | n for n in seconds)
    return _formats(name, 6, 0xFF00_0000_00FF, codes, registers, immediates, defined)


def _vector(
    name: str,
    seconds: Iterable[int],
    registers: Fields,
    immediates: Fields = (),
    defined: Callable[[int], bool] = always,
) -> Iterator[Format]:
    return _six(name, 0xE7, seconds, registers, immediates, defined)


def _sized(
    name: str, second: int, size: int, registers: Fields, immediates: Fields
) -> Iterator[Format]:
    """A vector instruction for one size of the elements, which is in bits 15 to 12."""
    codes = (0xE7 << 40 | size << 12 | second,)
    return _formats(name, 6, 0xFF00_0000_F0FF, codes, registers, immediates)


def _elements() -> Iterator[Format]:
    """Vector instructions that number an element, or a bit of one."""
    for size in _SIZES:
        number, bit = 4 - size, 3 + size
        yield from _sized("VRS-b", 0x22, size, (*_V1, _R2), ((16, number),))
        yield from _sized("VRS-c", 0x21, size, (_R1, *_V2), ((16, number),))
        yield from _sized("VRI-c", 0x4D, size, (*_V1, *_V2), ((16, number),))
        yield from _sized("VRI-b", 0x46, size, _V1, ((24, bit), (16, bit)))
    # vleb, vleh, vlef, vleg; vsteb, vsteh, vstef, vsteg; vleib, vleih, vleif, vleig
    for size, second in enumerate((0x00, 0x01, 0x03, 0x02)):
        element = (12, 4 - size)
        memory = (*_V1, _R2, _R3)
        yield from _vector("VRX", (second, second | 8), memory, (*_DISPLACEMENT, element))
        yield from _vector("VRI-a", (second | 0x40,), _V1, ((16, 16), element))


def _few_registers(word: int) -> bool:
    """Whether one to sixteen vector registers are loaded or stored."""
    first = word >> 36 & 15 | (word >> 11 & 1) << 4
    last = word >> 32 & 15 | (word >> 10 & 1) << 4
    return first <= last < first + 16


def _near(word: int) -> bool:
    """Whether larl's operand is less than 2 GiB away: QEMU 7.2 gets the others wrong."""
    return (word >> 30 & 3) in (0, 3)


def _indexed(code: int, seconds: Iterable[int]) -> Iterator[Format]:
    return _six("VRX", code, seconds, (*_V1, _R2, _R3), _DISPLACEMENT)


_FORMATS = (
    # bcr, lnr, ltr, lcr, nr, clr, or, xr, lr, cr, ar, sr, alr, slr
    *_two((0x07, *range(0x11, 0x1C), 0x1E, 0x1F)),
    # sth, la, stc, ic, bc, lh, ch, ah, sh, st, n, cl, o, x, l, c, a, s, al, sl
    *_four((*range(0x40, 0x44), *range(0x47, 0x4C), 0x50, *range(0x54, 0x5C), 0x5E, 0x5F)),
    # iihh to llill; brc, brct, brctg, lhi, lghi, ahi, aghi, chi, cghi
    *_formats(
        "RI",
        4,
        0xFF0F_0000,
        (
            *(0xA500_0000 | n << 16 for n in range(16)),
            *(0xA700_0000 | n << 16 for n in (4, *range(6, 12), 14, 15)),
        ),
        ((20, 4),),
        ((0, 16),),
    ),
    # sar, ear
    *_extended("RRE", (0xB24E, 0xB24F), ((4, 4), (0, 4))),
    # lngr, ltgr, lcgr, lgr, lgbr, lghr, agr, sgr, algr, slgr, lrvgr, lgfr, llgfr, agfr, sgfr,
    # algfr, slgfr, lrvr, cgr, clgr, lbr, lhr, ngr, ogr, xgr, llgcr, llghr, alcgr, slbgr, llcr,
    # llhr, alcr, slbr
    *_extended(
        "RRE",
        (
            *(*range(0xB901, 0xB905), *range(0xB906, 0xB90C), 0xB90F, 0xB914, 0xB916),
            *(*range(0xB918, 0xB91C), 0xB91F, 0xB920, 0xB921, 0xB926, 0xB927),
            *(*range(0xB980, 0xB983), *range(0xB984, 0xB986), 0xB988, 0xB989),
            *(0xB994, 0xB995, 0xB998, 0xB999),
        ),
        ((4, 4), (0, 4)),
    ),
    # ngrk, ogrk, xgrk, agrk, sgrk, algrk, slgrk; nrk, ork, xrk, ark, srk, alrk, slrk
    *_extended(
        "RRF-a",
        (top | n for top in (0xB9E0, 0xB9F0) for n in (4, *range(6, 12))),
        ((4, 4), (0, 4), (12, 4)),
    ),
    *_formats("RIL", 6, 0xFF0F_0000_0000, (0xC000 << 32,), (_R1,), ((0, 32),), _near),
    # lgfi, brcl, xihf, xilf, iihf, iilf, nihf, nilf, oihf, oilf, llihf, llilf; slgfi, slfi,
    # agfi, afi, algfi, alfi, cgfi, cfi, clgfi, clfi; aih, alsih, alsihn, cih, clih
    *_formats(
        "RIL",
        6,
        0xFF0F_0000_0000,
        (
            *(0xC000 << 32 | n << 32 for n in (1, 4, *range(6, 16))),
            *(0xC200 << 32 | n << 32 for n in (4, 5, *range(8, 16))),
            *(0xCC00 << 32 | n << 32 for n in (8, 10, 11, 13, 15)),
        ),
        (_R1,),
        ((0, 32),),
    ),
    # lg, ag, sg, alg, slg, lrvg, lgf, lrv, lrvh, cg, clg, stg, strvg, strv, strvh, sty, ny, cly,
    # oy, xy, ly, cy, ay, sy, aly, sly, stcy, sthy, lay, icy, lb, lgb, lhy, ng, og, xg, alcg, slbg,
    # llgc, llgh, alc, slb
    *_six(
        "RXY",
        0xE3,
        (
            *(0x04, *range(0x08, 0x0C), 0x0F, 0x14, 0x16, *range(0x1E, 0x22), 0x24, 0x2F),
            *(0x3E, 0x3F, 0x50, *range(0x54, 0x5C), *range(0x5E, 0x60), *range(0x70, 0x74)),
            *(*range(0x76, 0x79), *range(0x80, 0x83), *range(0x88, 0x8A), *range(0x90, 0x92)),
            *range(0x98, 0x9A),
        ),
        (_R1, _R2, _R3),
        _LONG_DISPLACEMENT,
    ),
    # lmg, srag, srlg, sllg, rllg, rll, stmg, stmy, lmy, srak, srlk, sllk
    *_six(
        "RSY",
        0xEB,
        (0x04, 0x0A, 0x0C, 0x0D, 0x1C, 0x1D, 0x24, 0x90, 0x98, 0xDC, 0xDE, 0xDF),
        (_R1, _R2, _R3),
        _LONG_DISPLACEMENT,
    ),
    # cgrj, clgrj, crj, clrj: the least significant bit of the condition is reserved.
    *_six("RIE-b", 0xEC, (0x64, 0x65, 0x76, 0x77), (_R1, _R2), ((16, 16), (13, 3))),
    # cgij, clgij, cij, clij
    *_six("RIE-c", 0xEC, range(0x7C, 0x80), (_R1,), ((33, 3), (16, 16), (8, 8))),
    # ahik, aghik, alhsik, alghsik
    *_six("RIE-d", 0xEC, range(0xD8, 0xDC), (_R1, _R2), ((16, 16),)),
    # risbg, risbgn
    *_six("RIE-f", 0xEC, (0x55, 0x59), (_R1, _R2), ((31, 1), (24, 6), (16, 6), (8, 6))),
    *_elements(),
    # vst, vl; vlrep and vllez hold the size of the elements in bits 15 to 12
    *_indexed(0xE7, (0x0E, 0x06, 0x05, 0x04)),
    # vlebrh, vlebrg, vlebrf, vllebrz, vlbrrep, vlbr, vler, vstebrh, vstebrg, vstebrf, vstbr, vster
    *_indexed(0xE6, (*range(0x01, 0x08), 0x09, 0x0A, 0x0B, 0x0E, 0x0F)),
    # vlm, vstm
    *_vector("VRS-a", (0x36, 0x3E), (*_V1, *_V2, _R3), _DISPLACEMENT, _few_registers),
    # vesl, verll, vesrl, vesra
    *_vector("VRS-a", (0x30, 0x33, 0x38, 0x3A), (*_V1, *_V2, _R3), _DISPLACEMENT),
    # vgbm, vrepi
    *_vector("VRI-a", (0x44, 0x45), _V1, ((16, 16),)),
    # verim, vsldb
    *_vector("VRI-d", (0x72,), (*_V1, *_V2, *_V3), ((16, 8),)),
    *_vector("VRI-d", (0x77,), (*_V1, *_V2, *_V3), ((16, 4),)),
    # vlr
    *_vector("VRR-a", (0x56,), (*_V1, *_V2)),
    # vlvgp
    *_vector("VRR-f", (0x62,), (*_V1, _R2, _R3)),
    # vpdi: the number of a doubleword of each operand
    *_vector("VRR-c", (0x84,), (*_V1, *_V2, *_V3), ((14, 1), (12, 1))),
    # vmrl, vmrh, vn, vnc, vo, vno, vnx, vx, vnn, voc, veslv, verllv, vesrlv, vesrav, vpk, vacc, va,
    # vs
    *_vector(
        "VRR-c",
        (
            *(0x60, 0x61, *range(0x68, 0x70), 0x70, 0x73, 0x78, 0x7A, 0x94),
            *(0xF1, 0xF3, 0xF7),
        ),
        (*_V1, *_V2, *_V3),
    ),
    # vperm, vsel
    *_vector("VRR-e", (0x8C, 0x8D), (*_V1, *_V2, *_V3, *_V4)),
)

ENCODING = Encoding(
    formats=_FORMATS,
    order="big",
    trap=bytes(2),
    # Chapter 9, "Floating-Point-Control Register": the flags, the exception code and the rounding
    # modes; with a mask set, arithmetic traps.
    settable={"fpc": 0x00F8FF73},
)
