"""LoongArch: "LoongArch Reference Manual, Volume 1: Basic Architecture", appendix B.

The encodings of vector instructions are those of LLVM's assembler (ziglang 0.17.1).
"""

from verify.mutate.siblings.model import Siblings

SIBLINGS = Siblings(
    nops={4: 0x03400000},
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
        # vadd.h, vadd.w, vadd.d, vsub.h, vsub.w, vsub.d
        (0x700A8000, 0x700B0000, 0x700B8000, 0x700C8000, 0x700D0000, 0x700D8000),
        # vand.v, vor.v, vxor.v, vnor.v
        (0x71260000, 0x71268000, 0x71270000, 0x71278000),
        # vrotri.w, vslli.w, vsrli.w, vsrai.w
        (0x72A08000, 0x732C8000, 0x73308000, 0x73348000),
        # vshuf4i.b, vshuf4i.h, vshuf4i.w
        (0x73900000, 0x73940000, 0x73980000),
        # vandi.b, vori.b, vxori.b, vnori.b
        (0x73D00000, 0x73D40000, 0x73D80000, 0x73DC0000),
    ),
)
