"""x86-64's instructions: what a form is, and that they are read as QEMU executes them."""

from __future__ import annotations

import pytest

from tests.validate.readings import own_target, stock
from verify.arch import by_name
from verify.validate.campaign import validate, validate_all
from verify.validate.encodings import Form, encoding_of
from verify.validate.model import exit_code

X86 = by_name("x86_64")
ENCODING = encoding_of("x86_64")


def form(code: str) -> Form:
    """The form of an instruction in hexadecimal."""
    return ENCODING.form(bytes.fromhex(code))


SAME = [
    ("01c8", "01d1"),  # add, other registers
    ("4801c8", "4d01ff"),  # add of 64 bits, registers below and above r8
    ("4883c040", "4983c701"),  # add r, imm8
    ("b801000000", "bf00000080"),  # mov r, imm32
    ("50", "57"),  # push
    ("488b4c0808", "4b8b54fe80"),  # mov r, [base + index * scale + disp8]
    ("660f6f0500010000", "660f6f3d00000000"),  # movdqa x, [rip + disp32]
    ("660f70c039", "660f70ff93"),  # pshufd
    ("660f72f010", "660f72f707"),  # pslld x, imm8
    ("0f8501000000", "0f85ffffffff"),  # jne
    ("66450fd4c1", "66410fd4c9"),  # paddq, r8 and above
    ("0fc8", "0fcf"),  # bswap
    ("d3e0", "d3e7"),  # shl r, cl
]
DIFFERENT = [
    ("01c8", "29c8"),  # add, sub
    ("01c8", "4801c8"),  # of 32 and of 64 bits
    ("01c8", "6601c8"),  # of 32 and of 16 bits
    ("01c8", "03c8"),  # the other direction
    ("0108", "01c8"),  # memory, register
    ("014808", "010c08"),  # base and displacement, base and index
    ("014808", "018880000000"),  # displacements of 8 and 32 bits
    ("010d00000000", "018800000000"),  # rip and displacement, base and displacement
    ("8b0408", "8b0424"),  # with and without an index
    ("8b0408", "8b04cd00000000"),  # without a base
    ("c1e010", "c1e810"),  # shl, shr: the extension of the opcode
    ("660f72f010", "660f72d010"),  # pslld, psrld
    ("0f8500000000", "0f8400000000"),  # jne, je
    ("f30f6f00", "660f6f00"),  # movdqu, movdqa
    ("0fc6c100", "660fc6c100"),  # shufps, shufpd
    ("0fc2c100", "0fc2c101"),  # cmpps: the immediate is the comparison
    ("40b001", "b001"),  # mov to spl, bpl, sil, dil and to ah, ch, dh, bh
    ("f6c001", "f6d0"),  # test with an immediate, not
    ("f00108", "0108"),  # with and without lock
]
# System instructions, x87, MMX, VEX, what is cut short, and what has bytes too many.
WITHOUT_FORMAT = ["0f05", "0fa2", "d9c0", "0fefc0", "c5f9fec1", "f30f1efa", "4801", "01c890", "64"]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_operands_do_not_make_a_form(one: str, other: str) -> None:
    assert form(one) == form(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_operations_and_kinds_of_operands_have_forms_of_their_own(one: str, other: str) -> None:
    assert form(one) != form(other)


@pytest.mark.parametrize("code", WITHOUT_FORMAT)
def test_an_instruction_of_no_known_format_is_a_form_of_its_own(code: str) -> None:
    size = len(code) // 2
    assert form(code) == Form(size, (1 << 8 * size) - 1, int(code, 16))


# Instruction, flags that Volume 2 leaves undefined behind it, or may.
UNDEFINED = [
    ("01c8", ""),
    ("09c8", "af"),
    ("25ff000000", "af"),
    ("4883f001", "af"),
    ("4883c001", ""),
    ("85c0", "af"),
    ("c1e000", ""),
    ("c1e001", "af"),
    ("c1e020", ""),
    ("48c1e020", "of af"),
    ("c0e808", "of cf af"),
    ("c0f808", "of af"),
    ("66c1e010", "of cf af"),
    ("d3e0", "of af"),
    ("d2e0", "of cf af"),
    ("66d3e8", "of cf af"),
    ("c1c007", "of"),
    ("c1c001", ""),
    ("d3c0", "of"),
    ("480fafc1", "sf zf af pf"),
    ("f7f1", "cf pf af zf sf of"),
    ("f7d8", ""),
    ("0fa3c8", "of sf af pf"),
    ("0fbcc8", "cf of sf af pf"),
    ("0fa4c801", "af"),
]


@pytest.mark.parametrize(("code", "flags"), UNDEFINED)
def test_undefined_flags(code: str, flags: str) -> None:
    assert " ".join(ENCODING.undefined(bytes.fromhex(code), {})) == flags


# Opcodes by what their operands are; the forms that variations of them make are compared.
READ = """
 00c0 4801c8 034010 80c001 8110ff000000 4883d8ff 3cff 4829c8 66 31c8 390c88
 88c0 4889c8 8b0500010000 48894c2408 8d440110 4863c1 85c0 f6d0 48f7d8 48f7e0 480fafc1
 c0e003 48c1e803 66c1f803 d1e8 d3e0 48d3f8 d3c0 48c1c810 fec0 ff08
 50 58 6a01 ff30 8f00 ff20 ffd0 ff10 c3 c9 fc fd 4899 b001 48b80102030405060708 c700aa000000
 0f4cc1 0f9400 0fb6c0 480fbe00 0fc8 0fbae003 480fbaf803 0fbcc8 0fa4c803 0fc1c8
 7501 e901000000 e801000000 e310
 0f1000 0f1100 0f28c1 0f2800 0f2900 660f6f00 660f7f00 f30f6f00 f30f7f00 f20ff000
 660ffec1 660ffe00 660fd400 660fef00 660febc1 660f62c1 660f6cc1 0fc6c14e 0f16c1 0f1200
 660f70c01b f20f70c01b f30f70c01b 660f72f003 660f72d003 660f73f804 660ff2c1
 660f6ec0 66480f7ec0 f30f7ec1 0f57c1 660f3800c1 660f3a0fc104 660fc5c101
""".replace("66 31c8", "6631c8").split()


def test_our_reading_agrees_with_qemu() -> None:
    validation = validate_all(X86, [], 16, forms=[form(code) for code in READ])
    assert len(validation.groups) == len({form(code) for code in READ})
    assert [group.form for group in validation.groups if not group.passed] == []


# QEMU 7.2 faults at these, but not at those that have no prefix, as xorps.
@pytest.mark.parametrize("code", ["660ffe00", "660fef4010", "660f7008e4"])
def test_vex_does_not_say_that_operands_have_to_be_aligned(code: str) -> None:
    forms = [form(code)]
    ours = validate_all(X86, [], forms=forms)
    theirs = validate_all(X86, [], forms=forms, lifter=stock)
    assert ours.passed
    assert exit_code([theirs]) == 1, "`alignment` can go"


def test_what_is_undefined_is_named() -> None:
    validation = validate(own_target("x86_64/unrolled.so"), 16)
    undefined = {group.mnemonics: group.undefined for group in validation.groups if group.undefined}
    assert undefined == {("shl",): ("of", "af")}
    assert not validation.mismatches
