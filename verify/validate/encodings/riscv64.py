"""RISC-V's instruction formats, for 64 bits.

"The RISC-V Instruction Set Manual, Volume I: Unprivileged Architecture", sections "Base Instruction
Formats", "Immediate Encoding Variants" and "RV32/64G Instruction Set Listings", chapter "B" for the
bit manipulation of Zbb, and for the instructions of 16 bits chapter "C", sections "Compressed
Instruction Formats" and "RVC Instruction Set Listings".
"""

from __future__ import annotations

from collections.abc import Callable

from verify.validate.encodings.model import Encoding, Field, Format, always

_RD = (7, 5)
_RS1 = (15, 5)
_RS2 = (20, 5)
_RS3 = (27, 5)
_I = ((20, 12),)
_S = ((7, 5), (25, 7))
_U = ((12, 20),)

_LOAD, _LOAD_FP, _OP_IMM, _AUIPC, _OP_IMM_32 = 0x03, 0x07, 0x13, 0x17, 0x1B
_STORE, _STORE_FP, _AMO, _OP, _LUI, _OP_32 = 0x23, 0x27, 0x2F, 0x33, 0x37, 0x3B
_MADD, _MSUB, _NMSUB, _NMADD, _OP_FP = 0x43, 0x47, 0x4B, 0x4F, 0x53
_BRANCH, _JALR, _JAL = 0x63, 0x67, 0x6F

_OPCODE = 0x7F
_FUNCT3 = 0x7000
_FUNCT6 = 0xFC00_0000
_FUNCT7 = 0xFE00_0000
_RS2_FIELD = 0x01F0_0000


def _long(
    name: str,
    opcode: int,
    registers: tuple[Field, ...],
    immediates: tuple[Field, ...] = (),
    select: int = 0,
    value: int = 0,
) -> Format:
    """32 bits, the opcode in the 7 lowest."""
    return Format(
        name, 0, 0xFFFF_FFFF, registers, immediates, _OPCODE | select, opcode | value, always
    )


def _shift(opcode: int, funct3: int, upper: int, bits: int) -> Format:
    """A shift by an immediate of that many bits; the upper bits choose which."""
    mask = _FUNCT6 if bits == 6 else _FUNCT7
    value = funct3 << 12 | upper
    return _long("I shift", opcode, (_RD, _RS1), ((20, bits),), _FUNCT3 | mask, value)


_SHIFTS = (
    # slli; srli, srai, rori
    _shift(_OP_IMM, 1, 0, 6),
    *(_shift(_OP_IMM, 5, upper, 6) for upper in (0, 0x4000_0000, 0x6000_0000)),
    # slliw; srliw, sraiw, roriw
    _shift(_OP_IMM_32, 1, 0, 5),
    *(_shift(_OP_IMM_32, 5, upper, 5) for upper in (0, 0x4000_0000, 0x6000_0000)),
)

_LONG = (
    *_SHIFTS,
    # clz, ctz, cpop, sext.b, sext.h, and the others whose second operand chooses the operation
    *(
        _long("I unary", opcode, (_RD, _RS1), (), _FUNCT3, funct3 << 12)
        for opcode in (_OP_IMM, _OP_IMM_32)
        for funct3 in (1, 5)
    ),
    _long("I", _OP_IMM, (_RD, _RS1), _I),
    _long("I", _OP_IMM_32, (_RD, _RS1), _I, _FUNCT3, 0),
    # zext.h is pack with x0, but does not need the extension of pack
    _long("R unary", _OP_32, (_RD, _RS1), (), _FUNCT3 | _FUNCT7 | _RS2_FIELD, 0x0800_4000),
    _long("R", _OP, (_RD, _RS1, _RS2)),
    _long("R", _OP_32, (_RD, _RS1, _RS2)),
    _long("U", _LUI, (_RD,), _U),
    _long("U", _AUIPC, (_RD,), _U),
    _long("J", _JAL, (_RD,), _U),
    _long("I", _JALR, (_RD, _RS1), _I),
    _long("B", _BRANCH, (_RS1, _RS2), _S),
    _long("I", _LOAD, (_RD, _RS1), _I),
    _long("I", _LOAD_FP, (_RD, _RS1), _I),
    _long("S", _STORE, (_RS1, _RS2), _S),
    _long("S", _STORE_FP, (_RS1, _RS2), _S),
    # lr.w, lr.d: the ordering bits and funct5 are the opcode
    _long("R unary", _AMO, (_RD, _RS1), (), 0xF800_0000, 0x1000_0000),
    _long("R", _AMO, (_RD, _RS1, _RS2)),
    *(_long("R4", opcode, (_RD, _RS1, _RS2, _RS3)) for opcode in (_MADD, _MSUB, _NMSUB, _NMADD)),
    # Square root, conversions, moves and classification: the second operand is the opcode.
    *(
        _long("R unary", _OP_FP, (_RD, _RS1), (), 0xF800_0000, funct5 << 27)
        for funct5 in (0x08, 0x0B, 0x18, 0x1A, 0x1C, 0x1E)
    ),
    _long("R", _OP_FP, (_RD, _RS1, _RS2)),
)

_C_RD = (7, 5)
_C_RS2 = (2, 5)
_C_RD_LOW = (2, 3)
_C_RS1_LOW = (7, 3)
_C_I = ((2, 5), (12, 1))
_C_L = ((5, 2), (10, 3))
_C_FUNCT3 = 0xE003
_C_FUNCT4 = 0xF003
_C_RD_FIELD = 0x0F80


def _short(
    name: str,
    value: int,
    registers: tuple[Field, ...],
    immediates: tuple[Field, ...] = (),
    select: int = _C_FUNCT3,
    defined: Callable[[int], bool] = always,
) -> Format:
    """16 bits, funct3 in the highest and the quadrant in the two lowest."""
    return Format(name, 0, 0xFFFF, registers, immediates, select, value, defined, size=2)


def _rd(word: int) -> bool:
    """The destination is not x0, with which it would be a hint or reserved."""
    return word & _C_RD_FIELD != 0


def _immediate(word: int) -> bool:
    """The immediate is not zero, with which it would be a hint or reserved."""
    return word & 0x107C != 0


def _rd_and_immediate(word: int) -> bool:
    return _rd(word) and _immediate(word)


def _two(word: int) -> bool:
    """Neither operand is x0, with which it would be a hint or another instruction."""
    return _rd(word) and word & 0x007C != 0


_SHORT = (
    _short("CIW", 0x0000, (_C_RD_LOW,), ((5, 8),), defined=lambda word: word & 0x1FE0 != 0),
    # c.fld, c.lw, c.ld; c.fsd, c.sw, c.sd
    *(_short("CL", n << 13, (_C_RD_LOW, _C_RS1_LOW), _C_L) for n in (1, 2, 3)),
    *(_short("CS", n << 13, (_C_RD_LOW, _C_RS1_LOW), _C_L) for n in (5, 6, 7)),
    # c.nop; c.addi, c.addiw, c.li; c.addi16sp, c.lui
    _short("CI", 0x0001, (), select=0xFFFF),
    _short("CI", 0x0001, (_C_RD,), _C_I, defined=_rd_and_immediate),
    _short("CI", 0x2001, (_C_RD,), _C_I, defined=_rd),
    _short("CI", 0x4001, (_C_RD,), _C_I, defined=_rd),
    _short("CI", 0x6101, (), _C_I, _C_FUNCT3 | _C_RD_FIELD, _immediate),
    _short("CI", 0x6001, (_C_RD,), _C_I, defined=_rd_and_immediate),
    # c.srli, c.srai, c.andi
    _short("CB", 0x8001, (_C_RS1_LOW,), _C_I, 0xEC03, _immediate),
    _short("CB", 0x8401, (_C_RS1_LOW,), _C_I, 0xEC03, _immediate),
    _short("CB", 0x8801, (_C_RS1_LOW,), _C_I, 0xEC03),
    # c.sub, c.xor, c.or, c.and; c.subw, c.addw, c.mul
    *(
        _short("CA", value, (_C_RS1_LOW, _C_RD_LOW), (), 0xFC63)
        for value in (0x8C01, 0x8C21, 0x8C41, 0x8C61, 0x9C01, 0x9C21, 0x9C41)
    ),
    # c.zext.b, c.sext.b and their like: the second operand is the opcode.
    _short("CU", 0x9C61, (_C_RS1_LOW,), (), 0xFC63),
    # c.j, c.beqz, c.bnez
    _short("CJ", 0xA001, (), ((2, 11),)),
    _short("CB", 0xC001, (_C_RS1_LOW,), ((2, 5), (10, 3))),
    _short("CB", 0xE001, (_C_RS1_LOW,), ((2, 5), (10, 3))),
    _short("CI", 0x0002, (_C_RD,), _C_I, defined=_rd_and_immediate),
    # c.fldsp, c.lwsp, c.ldsp
    _short("CI", 0x2002, (_C_RD,), _C_I),
    _short("CI", 0x4002, (_C_RD,), _C_I, defined=_rd),
    _short("CI", 0x6002, (_C_RD,), _C_I, defined=_rd),
    # Jump to a register, move; break, call to a register, add.
    _short("CR", 0x8002, (_C_RD,), (), _C_FUNCT4 | 0x007C, _rd),
    _short("CR", 0x8002, (_C_RD, _C_RS2), (), _C_FUNCT4, _two),
    _short("CR", 0x9002, (), select=0xFFFF),
    _short("CR", 0x9002, (_C_RD,), (), _C_FUNCT4 | 0x007C, _rd),
    _short("CR", 0x9002, (_C_RD, _C_RS2), (), _C_FUNCT4, _two),
    # c.fsdsp, c.swsp, c.sdsp
    *(_short("CSS", n << 13 | 2, (_C_RS2,), ((7, 6),)) for n in (5, 6, 7)),
)

ENCODING = Encoding(
    formats=(*_LONG, *_SHORT),
    order="little",
    trap=bytes(2),
    # Volume I, "Floating-Point Control and Status Register": flags and rounding mode.
    settable={"fcsr": 0xFF},
)
