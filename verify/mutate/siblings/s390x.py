"""s390x: z/Architecture Principles of Operation (SA22-7832), the descriptions of the instructions.

Many branches have their condition in a mask of the four condition codes, of which the opposite one
is the complement.
"""

from verify.mutate.model import Operator
from verify.mutate.siblings.model import Related, Siblings

_E3, _E6, _E7, _EB, _EC = (n << 40 for n in (0xE3, 0xE6, 0xE7, 0xEB, 0xEC))
_C2 = 0xC2 << 40

# By the bytes that are the operation code: where the mask is, and its bits that count.
_BRC = 0xA704
_MASKS = {
    **dict.fromkeys((0x64, 0x65, 0x76, 0x77), (12, 14)),  # cgrj, clgrj, crj, clrj
    **dict.fromkeys((0x7C, 0x7D, 0x7E, 0x7F), (32, 14)),  # cgij, clgij, cij, clij
}


def _inverted(code: bytes) -> Related:
    """A branch on the complement of its mask."""
    word, size = int.from_bytes(code, "big"), len(code)
    if size == 4 and word >> 16 & 0xFF0F == _BRC:
        yield Operator.BRANCH, (word ^ 15 << 20).to_bytes(size, "big")
    elif size == 6 and word >> 40 == _EC >> 40 and word & 255 in _MASKS:
        low, bits = _MASKS[word & 255]
        yield Operator.BRANCH, (word ^ bits << low).to_bytes(size, "big")


def _sized(code: int) -> tuple[int, ...]:
    """A vector instruction on halfwords, words and doublewords."""
    return tuple(_E7 | size << 12 | code for size in (1, 2, 3))


SIBLINGS = Siblings(
    nops={2: 0x0700, 4: 0x47000000, 6: 0xC00400000000},
    # brct, brctg
    branches=((0xA7060000, 0xA7070000),),
    widths=(
        # l, lh, ic; st, sth, stc
        (0x58000000, 0x48000000, 0x43000000),
        (0x50000000, 0x40000000, 0x42000000),
        # lg, lgf, llgf, ly, llgh, llgc, lrvg, lrv
        tuple(_E3 | n for n in (0x04, 0x14, 0x16, 0x58, 0x91, 0x90, 0x0F, 0x1E)),
        # stg, sty, sthy, stcy, strvg, strv, strvh
        tuple(_E3 | n for n in (0x24, 0x50, 0x70, 0x72, 0x2F, 0x3E, 0x3F)),
        # vlrep and vllez of halfwords, words, doublewords
        _sized(0x05),
        _sized(0x04),
        # vstbr of halfwords, words, doublewords
        (_E6 | 0x100E, _E6 | 0x200E, _E6 | 0x300E),
    ),
    operations=(
        # lhi, lghi, ahi, aghi
        (0xA7080000, 0xA7090000, 0xA70A0000, 0xA70B0000),
        # nr, or, xr; ar, sr, alr, slr; n, o, x; a, s, al, sl
        (0x1400, 0x1600, 0x1700),
        (0x1A00, 0x1B00, 0x1E00, 0x1F00),
        (0x54000000, 0x56000000, 0x57000000),
        (0x5A000000, 0x5B000000, 0x5E000000, 0x5F000000),
        # agr, sgr, algr, slgr; ngr, ogr, xgr; alcr, slbr; alcgr, slbgr
        (0xB9080000, 0xB9090000, 0xB90A0000, 0xB90B0000),
        (0xB9800000, 0xB9810000, 0xB9820000),
        (0xB9980000, 0xB9990000),
        (0xB9880000, 0xB9890000),
        # slfi, alfi, afi
        (_C2 | 5 << 32, _C2 | 11 << 32, _C2 | 9 << 32),
        # larl, lgfi
        (0xC000 << 32, 0xC001 << 32),
        # rllg, sllg, srlg, srag; rll
        tuple(_EB | n for n in (0x1C, 0x0D, 0x0C, 0x0A, 0x1D)),
        # cgrj, clgrj; cgij, clgij
        (_EC | 0x64, _EC | 0x65),
        (_EC | 0x7C, _EC | 0x7D),
        # vn, vnc, vo, vno, vx, vnx
        tuple(_E7 | n for n in (0x68, 0x69, 0x6A, 0x6B, 0x6D, 0x6C)),
        # va, vs
        (*_sized(0xF3), *_sized(0xF7)),
        # verll, and vesl, vesrl, vesra of words
        (*_sized(0x33), _E7 | 0x2030, _E7 | 0x2038, _E7 | 0x203A),
        # vperm, vsel
        (_E7 | 0x8C, _E7 | 0x8D),
        # vmrl, vmrh of words
        (_E7 | 0x2060, _E7 | 0x2061),
        # vgbm, vrepi of words
        (_E7 | 0x44, _E7 | 0x2045),
    ),
    others=_inverted,
)
