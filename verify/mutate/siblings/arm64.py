"""AArch64: Arm Architecture Reference Manual for A-profile, "A64 Instruction Set Encoding"."""

from verify.mutate.model import Operator
from verify.mutate.siblings.model import Related, Siblings

_CONDITIONAL_BRANCH, _OPCODE = 0x54000000, 0xFF000010
_ALWAYS = 14


def _inverted(code: bytes) -> Related:
    """A conditional branch with the opposite condition, which is an operand."""
    word = int.from_bytes(code, "little")
    if word & _OPCODE == _CONDITIONAL_BRANCH and word & 15 < _ALWAYS:
        yield Operator.BRANCH, (word ^ 1).to_bytes(4, "little")


SIBLINGS = Siblings(
    nops={4: 0xD503201F},
    branches=(
        # cbz, cbnz of 32 and of 64 bits; tbz, tbnz
        (0x34000000, 0x35000000),
        (0xB4000000, 0xB5000000),
        (0x36000000, 0x37000000),
    ),
    widths=(
        # ldrb, ldrh, ldr of 32 and of 64 bits; strb, strh, str of 32 and of 64 bits
        (0x39400000, 0x79400000, 0xB9400000, 0xF9400000),
        (0x39000000, 0x79000000, 0xB9000000, 0xF9000000),
        # ldp, stp of 32 and of 64 bits; the same with the base changed before or behind
        (0x29400000, 0xA9400000),
        (0x29000000, 0xA9000000),
        (0x29C00000, 0xA9C00000),
        (0x29800000, 0xA9800000),
        (0x28C00000, 0xA8C00000),
        (0x28800000, 0xA8800000),
        # ldp, stp of vector registers of 32, 64 and 128 bits
        (0x2D400000, 0x6D400000, 0xAD400000),
        (0x2D000000, 0x6D000000, 0xAD000000),
        # ld1 of 8 bytes and of 16, 32, 48, 64; st1
        (0x0C407800, 0x4C407800, 0x4C40A800, 0x4C406800, 0x4C402800),
        (0x0C007800, 0x4C007800, 0x4C00A800, 0x4C006800, 0x4C002800),
        # st1 of 64 bytes and of 32, with the base changed behind
        (0x4C9F2000, 0x0C9F2000),
    ),
    operations=(
        # add, adds, sub, subs of an immediate, of 32 and of 64 bits
        (0x11000000, 0x31000000, 0x51000000, 0x71000000),
        (0x91000000, 0xB1000000, 0xD1000000, 0xF1000000),
        # add, adds, sub, subs of a register, of 32 and of 64 bits
        (0x0B000000, 0x2B000000, 0x4B000000, 0x6B000000, 0x8B000000, 0xCB000000),
        (0x8B000000, 0xAB000000, 0xCB000000, 0xEB000000, 0x0B000000, 0x4B000000),
        # adc, adcs, sbc
        (0x1A000000, 0x3A000000, 0x5A000000),
        # and, orr, eor, bic, orn, eon of 32 bits; of 64 bits; orr with another kind of shift
        (0x0A000000, 0x2A000000, 0x4A000000, 0x0A200000, 0x2A200000, 0x4A200000),
        (0x8A000000, 0xAA000000, 0xCA000000, 0x8A200000, 0xAA200000, 0xCA200000),
        (0xAA000000, 0xAA400000, 0xAA800000, 0xAAC00000),
        # sbfm, bfm, ubfm of 64 bits
        (0x93400000, 0xB3400000, 0xD3400000),
        # movn, movz, movk of 32 and of 64 bits
        (0x12800000, 0x52800000, 0x72800000, 0xD2800000),
        (0x92800000, 0xD2800000, 0xF2800000),
        # adr, adrp
        (0x10000000, 0x90000000),
        # add, sub of 8 halfwords, 4 words, 2 doublewords, and of 2 words
        (0x4E608400, 0x4EA08400, 0x4EE08400, 0x6E608400, 0x6EA08400, 0x6EE08400, 0x0EA08400),
        # and, orr, eor, bic, orn; eor of 8 bytes
        (0x4E201C00, 0x4EA01C00, 0x6E201C00, 0x4E601C00, 0x4EE01C00, 0x2E201C00),
        # sshr, ushr, usra, shl, sli, sri of words
        (0x4F200400, 0x6F200400, 0x6F201400, 0x4F205400, 0x6F205400, 0x6F204400),
        # rev32 of bytes and halfwords, rev64 of halfwords and words
        (0x6E200800, 0x6E600800, 0x4E600800, 0x4EA00800),
        # tbl, tbx
        (0x4E000000, 0x4E001000),
        # movi, mvni, orr, bic of words
        (0x4F000400, 0x6F000400, 0x4F001400, 0x6F001400),
        # a word into each element, into the first, into the second
        (0x4E040C00, 0x4E041C00, 0x4E0C1C00),
        # ld1 of bytes, halfwords, words
        (0x0C407000, 0x0C407400, 0x0C407800),
    ),
    others=_inverted,
)
