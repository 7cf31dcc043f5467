"""PowerPC: Power ISA 3.1, Book I, and the appendix with the opcode maps."""

from verify.mutate.siblings.model import Siblings

SIBLINGS = Siblings(
    nops={4: 0x60000000},
    branches=(
        # bc with BO = 4 (false), 12 (true), 16 (count not zero), 18 (count zero)
        (0x40800000, 0x41800000, 0x42000000, 0x42400000),
    ),
    widths=(
        # lwz, lbz, lhz, lha; stw, stb, sth; ld, lwa; std as stw
        (0x80000000, 0x88000000, 0xA0000000, 0xA8000000),
        (0x90000000, 0x98000000, 0xB0000000),
        (0xE8000000, 0xE8000002, 0x80000000),
        (0xF8000000, 0x90000000),
        # lwzx, lhzx, lbzx, ldx; stwx, sthx, stbx, stdx
        (0x7C00002E, 0x7C00022E, 0x7C0000AE, 0x7C00002A),
        (0x7C00012E, 0x7C00032E, 0x7C0001AE, 0x7C00012A),
    ),
    operations=(
        # add, subf, addc, adde
        (0x7C000214, 0x7C000050, 0x7C000014, 0x7C000114),
        # and, or, xor, nor, eqv, andc
        (0x7C000038, 0x7C000378, 0x7C000278, 0x7C0000F8, 0x7C000238, 0x7C000078),
        # addi, addis, addic, mulli
        (0x38000000, 0x3C000000, 0x30000000, 0x1C000000),
        # ori, oris, xori, xoris
        (0x60000000, 0x64000000, 0x68000000, 0x6C000000),
        # addze, addme
        (0x7C000194, 0x7C0001D4),
        # rldicl, rldicr, rldic, rldimi
        (0x78000000, 0x78000004, 0x78000008, 0x7800000C),
        # rlwinm, rlwimi
        (0x54000000, 0x50000000),
        # cmpwi, cmpdi; cmplwi, cmpldi
        (0x2C000000, 0x2C200000),
        (0x28000000, 0x28200000),
        # cmpw, cmpd, cmplw, cmpld
        (0x7C000000, 0x7C200000, 0x7C000040, 0x7C200040),
    ),
)
