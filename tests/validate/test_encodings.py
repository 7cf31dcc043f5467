"""A form is one operation: its mask covers operands, and nothing that chooses another operation."""

from __future__ import annotations

import random
from importlib import import_module
from pkgutil import iter_modules

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.arch import by_name
from verify.validate import encodings
from verify.validate.encodings import Form, encoding_of
from verify.validate.operands import vary

CODE = st.one_of(*(st.binary(min_size=size, max_size=size) for size in (2, 4, 6, 8)))
ARCHES = tuple(
    module.name
    for module in iter_modules(encodings.__path__)
    if hasattr(import_module(f"{encodings.__name__}.{module.name}"), "ENCODING")
)

# Two encodings of one form: architecture, words.
SAME = [
    ("arm64", 0x0B1F03E0, 0x0B000000),  # add
    ("arm64", 0x139F7FFF, 0x13800000),  # extr
    ("arm64", 0x529FFFFF, 0x52800000),  # movz
    ("arm64", 0xA9BC53F3, 0xA9800000),  # stp, written back
    ("arm64", 0x54FFFFE1, 0x54000000),  # b.ne, b.eq
    ("arm64", 0x6F3F57FF, 0x6F205400),  # sli of words
    ("arm64", 0x6E1F7BFF, 0x6E000000),  # ext
    ("arm64", 0x4F07E7FF, 0x4F00E400),  # movi of bytes
    ("arm64", 0x4C40ABFF, 0x4C40A800),  # ld1 of two vectors of words
    ("arm64", 0x4CDFABFF, 0x4CDFA800),  # ld1, the base increased
    ("loongarch64", 0x00109486, 0x00108000),  # add.d
    ("loongarch64", 0x004CB084, 0x004C8000),  # rotri.w
    ("loongarch64", 0x0041FC84, 0x00410000),  # slli.d, amounts 63 and 0
    ("loongarch64", 0x02BFFC84, 0x02800000),  # addi.w
    ("loongarch64", 0x28BFFC84, 0x28800000),  # ld.w
    ("loongarch64", 0x47FFFC9F, 0x44000000),  # bnez
    ("loongarch64", 0x53FFFFFF, 0x50000000),  # b
    ("loongarch64", 0x15FFFFE4, 0x14000000),  # lu12i.w
    ("loongarch64", 0x72A09C41, 0x72A08000),  # vrotri.w
    ("loongarch64", 0x73E1FFFF, 0x73E18000),  # vldi, doublewords
    ("powerpc64le", 0x7FFFFA14, 0x7C000214),  # add
    ("powerpc64le", 0x57FFFFFE, 0x54000000),  # rlwinm
    ("powerpc64le", 0x7BFFFFEE, 0x7800000C),  # rldimi, with and without the sixth bit of the amount
    ("powerpc64le", 0x4082FFF0, 0x40800000),  # bc 4
    ("powerpc64le", 0xFBFFFFF8, 0xF8000000),  # std
    ("powerpc64le", 0x7FFFFE76, 0x7C000674),  # sradi
    ("riscv64", 0x01FF8FB3, 0x01000033),  # add
    ("riscv64", 0x41FFDFBB, 0x4000503B),  # sraw
    ("riscv64", 0x03FF9F93, 0x01001013),  # slli, amounts 63 and 16
    ("riscv64", 0xFFFFBF83, 0x01003003),  # ld
    ("riscv64", 0xFFFFBFA3, 0x01003023),  # sd
    ("riscv64", 0xFFFF9FE3, 0x01001063),  # bne
    ("riscv64", 0x61F5551B, 0x6010501B),  # roriw
    ("riscv64", 0x1FFD, 0x0085),  # c.addi
    ("riscv64", 0x7FFE, 0x6082),  # c.ldsp
    ("riscv64", 0x9FBD, 0x9C21),  # c.addw
    ("riscv64", 0x8FFE, 0x8086),  # c.mv
    ("s390x", 0x18FF, 0x1800),  # lr
    ("s390x", 0x58FFFFFF, 0x58000000),  # l
    ("s390x", 0xA7F9FFFF, 0xA7090000),  # lghi
    ("s390x", 0xB99800FF, 0xB9980000),  # alcr
    ("s390x", 0xC2FBFFFFFFFF, 0xC20B00000000),  # alfi
    ("s390x", 0xE3FFFFFFFF04, 0xE30000000004),  # lg
    ("s390x", 0xECFFFFFFE065, 0xEC0000000065),  # clgrj
    ("s390x", 0xE7FFF0002EF3, 0xE700000020F3),  # vaf, on registers from 16 on and below
    ("s390x", 0xE7FF00032421, 0xE70000002021),  # vlgvf, elements 3 and 0
    ("s390x", 0xE7FFF000FF8C, 0xE7000000008C),  # vperm
]
# Encodings of different operations that differ in few bits.
DIFFERENT = [
    ("s390x", 0x1800, 0x1900),  # lr, cr
    ("s390x", 0xA7080000, 0xA7090000),  # lhi, lghi
    ("s390x", 0xB9980000, 0xB9980100),  # alcr, and with a bit that is reserved
    ("s390x", 0xC20B00000000, 0xC20A00000000),  # alfi, algfi
    ("s390x", 0xE30000000004, 0xE30000000024),  # lg, stg
    ("s390x", 0xE700000020F3, 0xE700000030F3),  # vaf, vag
    ("s390x", 0xE70000002033, 0xE70000003033),  # verllf, verllg
    ("s390x", 0xE70000032021, 0xE70000042021),  # vlgvf of an element that there is, and that is not
    ("s390x", 0xE70000003003, 0xE7000000C003),  # vlef of an element that there is, and that is not
    ("s390x", 0xE6000000200E, 0xE7000000200E),  # vstbrf, vst
    ("arm64", 0x0B000000, 0x8B000000),  # add of 32 and of 64 bits
    ("arm64", 0x0B000000, 0x2B000000),  # add, adds
    ("arm64", 0x2A000000, 0x2A200000),  # orr, orn
    ("arm64", 0x0B000000, 0x0B400000),  # shifted to the left, to the right
    ("arm64", 0x53000000, 0x13000000),  # ubfm, sbfm
    ("arm64", 0x34000000, 0x35000000),  # cbz, cbnz
    ("arm64", 0xA9000000, 0xA9400000),  # stp, ldp
    ("arm64", 0xA9000000, 0xA9800000),  # stp, written back
    ("arm64", 0x6F205400, 0x6F105400),  # sli of words, of halfwords
    ("arm64", 0x6F205400, 0x6F204400),  # sli, sri
    ("arm64", 0x6E600800, 0x6E200800),  # rev32 of halfwords, of bytes
    ("arm64", 0x4C40A800, 0x4C40A000),  # ld1 of words, of bytes
    ("arm64", 0x4C40A800, 0x4C407800),  # ld1 of two vectors, of one
    ("arm64", 0x4CDFA800, 0x4CC0A800),  # ld1, the base increased by a constant, by a register
    ("arm64", 0x4F00E400, 0x4F000400),  # movi of bytes, of words
    ("arm64", 0x4E081C00, 0x4E181C00),  # mov to the lower doubleword, to the upper one
    ("loongarch64", 0x00108000, 0x00100000),  # add.d, add.w
    ("loongarch64", 0x00408000, 0x00410000),  # slli.w, slli.d
    ("loongarch64", 0x00600000, 0x00608000),  # bstrins.w, bstrpick.w
    ("loongarch64", 0x28800000, 0x2A800000),  # ld.w, ld.wu
    ("loongarch64", 0x48000000, 0x48000100),  # bceqz, bcnez
    ("loongarch64", 0x72A04000, 0x72A08000),  # vrotri.h, vrotri.w
    ("loongarch64", 0x72EFC000, 0x72EFE000),  # vpickve2gr.h, vpickve2gr.w
    ("loongarch64", 0x73E20000, 0x73E22000),  # vldi, in two modes
    ("powerpc64le", 0x7C000214, 0x7C000614),  # add, addo
    ("powerpc64le", 0x7C000214, 0x7C000215),  # add, add.
    ("powerpc64le", 0x54000000, 0x54000001),  # rlwinm, rlwinm.
    ("powerpc64le", 0x78000000, 0x78000004),  # rldicl, rldicr
    ("powerpc64le", 0x78000010, 0x78000012),  # rldcl, rldcr
    ("powerpc64le", 0x2C000000, 0x2C200000),  # cmpwi, cmpdi
    ("powerpc64le", 0x40800000, 0x41800000),  # bc 4, bc 12
    ("powerpc64le", 0x48000000, 0x48000001),  # b, bl
    ("powerpc64le", 0xF8000000, 0xF8000001),  # std, stdu
    ("powerpc64le", 0xE8000000, 0xE8000002),  # ld, lwa
    ("powerpc64le", 0x7C0903A6, 0x7C0803A6),  # mtctr, mtlr
    ("powerpc64le", 0x4E800020, 0x4E800420),  # blr, bctr
    ("riscv64", 0x01000033, 0x41000033),  # add, sub
    ("riscv64", 0x01000033, 0x0100003B),  # add, addw
    ("riscv64", 0x01005013, 0x41005013),  # srli, srai
    ("riscv64", 0x01005013, 0x61005013),  # srli, rori
    ("riscv64", 0x60001013, 0x60101013),  # clz, ctz
    ("riscv64", 0x0800403B, 0x0810403B),  # zext.h, packw
    ("riscv64", 0x01002003, 0x01006003),  # lw, lwu
    ("riscv64", 0x01000063, 0x01001063),  # beq, bne
    ("riscv64", 0x8086, 0x9086),  # c.mv, c.add
    ("riscv64", 0x8082, 0x8086),  # c.jr, c.mv
    ("riscv64", 0x9C21, 0x9C01),  # c.addw, c.subw
    ("riscv64", 0x6085, 0x6105),  # c.lui, c.addi16sp
    ("riscv64", 0x0001, 0x0085),  # c.nop, c.addi
]


def form_of(arch: str, word: int) -> Form:
    """The form of a word of the table, which has as many bytes as are needed, four at the least
    where all instructions have four."""
    encoding = encoding_of(by_name(arch).instruction_set)
    return encoding.form(word.to_bytes(_size(arch, word), encoding.order))


def _size(arch: str, word: int) -> int:
    architecture = by_name(arch)
    if architecture.instruction_alignment == architecture.instruction_bytes:
        return architecture.instruction_bytes
    step = architecture.instruction_alignment
    return -(-word.bit_length() // (8 * step)) * step


@pytest.mark.parametrize(("arch", "one", "other"), SAME)
def test_operands_do_not_make_a_form(arch: str, one: int, other: int) -> None:
    assert form_of(arch, one) == form_of(arch, other)


@pytest.mark.parametrize(("arch", "one", "other"), DIFFERENT)
def test_operations_have_forms_of_their_own(arch: str, one: int, other: int) -> None:
    assert form_of(arch, one) != form_of(arch, other)


@pytest.mark.parametrize("arch", ARCHES)
@given(code=CODE)
def test_a_form_has_the_instruction_and_is_read_back(arch: str, code: bytes) -> None:
    encoding = encoding_of(by_name(arch).instruction_set)
    form = encoding.form(code)
    assert encoding.word(code) & form.mask == form.opcode
    assert form.size == len(code)
    assert Form.parse(str(form)) == form
    assert encoding.format_of(form).mask == form.mask


@pytest.mark.parametrize("arch", ARCHES)
@given(code=CODE, seed=st.integers())
def test_variations_keep_the_form(arch: str, code: bytes, seed: int) -> None:
    encoding = encoding_of(by_name(arch).instruction_set)
    form = encoding.form(code)
    varied = vary(encoding.format(code), form, random.Random(seed))
    assert varied & form.mask == form.opcode


UNKNOWN = {
    "loongarch64": 0xFFFFFFFE,
    "powerpc64le": 0x00000001,
    "riscv64": 0x8330000F,
    "s390x": 0x01010000,
}


@pytest.mark.parametrize("arch", UNKNOWN)
def test_an_instruction_of_no_known_format_is_a_form_of_its_own(arch: str) -> None:
    assert form_of(arch, UNKNOWN[arch]) == Form(4, 0xFFFFFFFF, UNKNOWN[arch])


def test_unknown_architecture() -> None:
    with pytest.raises(KeyError):
        encoding_of("m68k")
