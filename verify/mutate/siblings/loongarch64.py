"""LoongArch: "LoongArch Reference Manual, Volume 1: Basic Architecture", appendix B."""

from verify.mutate.siblings.model import Siblings

SIBLINGS = Siblings(
    nop=0x03400000,
    branches=(
        # beq, bne, blt, bge, bltu, bgeu; beqz, bnez
        (0x58000000, 0x5C000000, 0x60000000, 0x64000000, 0x68000000, 0x6C000000),
        (0x40000000, 0x44000000),
    ),
    widths=(
        # ld.b, ld.h, ld.w, ld.d, ld.bu, ld.hu, ld.wu; st.b, st.h, st.w, st.d
        (0x28000000, 0x28400000, 0x28800000, 0x28C00000, 0x2A000000, 0x2A400000, 0x2A800000),
        (0x29000000, 0x29400000, 0x29800000, 0x29C00000),
    ),
    operations=(
        # add.w, add.d, sub.w, sub.d
        (0x00100000, 0x00108000, 0x00110000, 0x00118000),
        # nor, and, or, xor
        (0x00140000, 0x00148000, 0x00150000, 0x00158000),
        # slli.w, srli.w, srai.w, rotri.w
        (0x00408000, 0x00448000, 0x00488000, 0x004C8000),
        # slli.d, srli.d, srai.d, rotri.d
        (0x00410000, 0x00450000, 0x00490000, 0x004D0000),
        # slti, sltui, addi.w, addi.d
        (0x02000000, 0x02400000, 0x02800000, 0x02C00000),
        # andi, ori, xori
        (0x03400000, 0x03800000, 0x03C00000),
        # lu12i.w, lu32i.d, pcaddi, pcaddu12i
        (0x14000000, 0x16000000, 0x18000000, 0x1C000000),
        # slt, sltu
        (0x00120000, 0x00128000),
        # maskeqz, masknez
        (0x00130000, 0x00138000),
    ),
)
