"""RISC-V: "The RISC-V Instruction Set Manual, Volume I", the instruction set listings of RV32I,
RV64I and RVC, and chapter "B" for Zbb."""

from verify.mutate.siblings.model import Siblings

SIBLINGS = Siblings(
    nops={2: 0x0001, 4: 0x00000013},
    branches=(
        # beq, bne, blt, bge, bltu, bgeu; c.beqz, c.bnez
        (0x00000063, 0x00001063, 0x00004063, 0x00005063, 0x00006063, 0x00007063),
        (0xC001, 0xE001),
    ),
    widths=(
        # lb, lh, lw, ld, lbu, lhu, lwu; sb, sh, sw, sd
        (0x0003, 0x1003, 0x2003, 0x3003, 0x4003, 0x5003, 0x6003),
        (0x0023, 0x1023, 0x2023, 0x3023),
        # c.lw, c.ld; c.sw, c.sd; c.lwsp, c.ldsp; c.swsp, c.sdsp
        (0x4000, 0x6000),
        (0xC000, 0xE000),
        (0x4002, 0x6002),
        (0xC002, 0xE002),
    ),
    operations=(
        # add, sub, addw, subw
        (0x00000033, 0x40000033, 0x0000003B, 0x4000003B),
        # xor, or, and, xnor, orn, andn
        (0x00004033, 0x00006033, 0x00007033, 0x40004033, 0x40006033, 0x40007033),
        # addi, slti, sltiu, xori, ori, andi, addiw
        (0x0013, 0x2013, 0x3013, 0x4013, 0x6013, 0x7013, 0x001B),
        # slliw, srliw, sraiw, roriw
        (0x0000101B, 0x0000501B, 0x4000501B, 0x6000501B),
        # slli, srli, srai, rori
        (0x00001013, 0x00005013, 0x40005013, 0x60005013),
        # sllw, srlw, sraw, rolw, rorw
        (0x0000103B, 0x0000503B, 0x4000503B, 0x6000103B, 0x6000503B),
        # slt, sltu
        (0x00002033, 0x00003033),
        # lui, auipc
        (0x37, 0x17),
        # c.sub, c.xor, c.or, c.and, c.subw, c.addw
        (0x8C01, 0x8C21, 0x8C41, 0x8C61, 0x9C01, 0x9C21),
        # c.srli, c.srai, c.andi
        (0x8001, 0x8401, 0x8801),
        # c.addi, c.addiw, c.li
        (0x0001, 0x2001, 0x4001),
        # c.mv, c.add
        (0x8002, 0x9002),
    ),
)
