"""RISC-V's instructions of 32 and 16 bits are read as QEMU executes them."""

from __future__ import annotations

from verify.arch import by_name
from verify.validate.campaign import validate_all
from verify.validate.encodings import Form, encoding_of

RISCV = by_name("riscv64")
ENCODING = encoding_of("riscv64")

_OP, _OP_32 = 0x33, 0x3B
# funct7 and funct3; of multiplications and divisions those that VEX has.
_OPERATIONS: dict[int, list[tuple[int, tuple[int, ...]]]] = {
    _OP: [
        (0x00, tuple(range(8))),
        (0x20, (0, 4, 5, 6, 7)),
        (0x01, (0, 1, 3)),
        (0x30, (1, 5)),
    ],
    _OP_32: [(0x00, (0, 1, 5)), (0x20, (0, 5)), (0x01, (0,)), (0x30, (1, 5))],
}
LONG = [
    *(
        funct7 << 25 | funct3 << 12 | opcode
        for opcode, rows in _OPERATIONS.items()
        for funct7, columns in rows
        for funct3 in columns
    ),
    *(funct3 << 12 | 0x13 for funct3 in (0, 2, 3, 4, 6, 7)),  # addi to andi
    *(funct3 << 12 | 0x03 for funct3 in range(7)),  # loads
    *(funct3 << 12 | 0x23 for funct3 in range(4)),  # stores
    *(funct3 << 12 | 0x63 for funct3 in (0, 1, 4, 5, 6, 7)),  # branches
    *(upper << 26 | 5 << 12 | 0x13 for upper in (0x00, 0x10, 0x18)),  # srli, srai, rori
    *(upper << 26 | 5 << 12 | 0x1B for upper in (0x00, 0x10, 0x18)),
    *(0x1013, 0x101B, 0x001B, 0x0037, 0x0017, 0x006F),  # slli, slliw, addiw, lui, auipc, jal
    *(0x2007, 0x3007, 0x2027, 0x3027),  # flw, fld, fsw, fsd
]
SHORT = [
    *(0x0020, 0x2000, 0x4000, 0x6000, 0xA000, 0xC000, 0xE000),
    *(0x0001, 0x0085, 0x2081, 0x4081, 0x6105, 0x6085, 0x8005, 0x8405, 0x8801),
    *(0x8C01, 0x8C21, 0x8C41, 0x8C61, 0x9C01, 0x9C21, 0xA009, 0xC001, 0xE001),
    *(0x0086, 0x2002, 0x4082, 0x6082, 0x8082, 0x8086, 0x9086, 0xA002, 0xC002, 0xE002),
]


def forms() -> list[Form]:
    """The forms of all of these instructions."""
    code = [word.to_bytes(4, "little") for word in LONG]
    code += [word.to_bytes(2, "little") for word in SHORT]
    return list(dict.fromkeys(map(ENCODING.form, code)))


def test_our_reading_agrees_with_qemu() -> None:
    validation = validate_all(RISCV, [], 16, forms=forms())
    assert len(validation.groups) == len(forms())
    assert [group.mnemonics for group in validation.groups if not group.passed] == []


def test_a_link_that_is_written_before_the_target_is_read_is_found() -> None:
    # VEX's c.jalr of ra goes to the instruction behind it: calls are not proved, so that no
    # proof reads it.
    validation = validate_all(RISCV, [], forms=[ENCODING.form(bytes.fromhex("8290"))])
    (group,) = validation.groups
    assert group.mnemonics == ("c.jalr",)
    assert {row.code.hex() for row in group.rows if row.mismatches} == {"8290"}
