"""LoongArch's vectors: each addition is what QEMU executes, and the lifter itself has none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lift.programs import run
from tests.validate.readings import stock
from verify import qemu
from verify.arch import by_name
from verify.lift.machine import UNDEFINED, Unsupported
from verify.lift.select import engine_for
from verify.lift.semantics import loongarch64
from verify.terms import const, variables
from verify.validate.campaign import Lifter, validate_all
from verify.validate.encodings import Form, encoding_of
from verify.validate.model import Validation

ARCH = "loongarch64"
STATES = 32
LETTERS = "bhwd"

# Opcodes as LLVM's assembler has them (ziglang 0.17.1), of instructions that exist for each width
# of lanes, one 0x8000 behind the other, ...
CONSECUTIVE = {
    "vseq": 0x70000000,
    "vsle": 0x70020000,
    "vslt": 0x70060000,
    "vadd": 0x700A0000,
    "vsub": 0x700C0000,
    "vsll": 0x70E80000,
    "vsrl": 0x70EA0000,
    "vsra": 0x70EC0000,
    "vrotr": 0x70EE0000,
    "vpackev": 0x71160000,
    "vpackod": 0x71180000,
    "vilvl": 0x711A0000,
    "vilvh": 0x711C0000,
    "vpickev": 0x711E0000,
    "vpickod": 0x71200000,
    "vreplve": 0x71220000,
    "vseqi": 0x72800000,
    "vslei": 0x72820000,
    "vslti": 0x72860000,
}
CONSECUTIVE_UNSIGNED = {
    "vsle": 0x70040000,
    "vslt": 0x70080000,
    "vslei": 0x72840000,
    "vslti": 0x72880000,
    "vaddi": 0x728A0000,
    "vsubi": 0x728C0000,
}
# ... 0x400 behind the other, ...
UNARY = {"vneg": 0x729C3000, "vreplgr2vr": 0x729F0000}
# ... with an amount of 3 to 6 bits behind a one, ...
AMOUNTS = {"vrotri": 0x72A00000, "vslli": 0x732C0000, "vsrli": 0x73300000, "vsrai": 0x73340000}
# ... with a lane's number of 4 to 1 bits behind ones and a zero, ...
NUMBERS = {"vinsgr2vr": 0x72EB8000, "vpickve2gr": 0x72EF8000, "vreplvei": 0x72F78000}
NUMBERS_UNSIGNED = {"vpickve2gr": 0x72F38000}
NUMBER_BITS = (0, 0x4000, 0x6000, 0x7000)
# ... with a displacement in units of the lane, ...
LANES_IN_MEMORY = {"vldrepl": 0x30000000, "vstelm": 0x31000000}
LANE_BITS = (0x800000, 0x400000, 0x200000, 0x100000)
# ... and all others; of vldi one in each mode.
OTHERS = {
    "vbitsel.v": [0x0D100000],
    "vshuf.b": [0x0D500000],
    "vld": [0x2C000000],
    "vst": [0x2C400000],
    "vldx": [0x38400000],
    "vstx": [0x38440000],
    "vand.v": [0x71260000],
    "vor.v": [0x71268000],
    "vxor.v": [0x71270000],
    "vnor.v": [0x71278000],
    "vandn.v": [0x71280000],
    "vorn.v": [0x71288000],
    "vadd.q": [0x712D0000],
    "vsub.q": [0x712D8000],
    "vshuf.h": [0x717A8000],
    "vshuf.w": [0x717B0000],
    "vshuf.d": [0x717B8000],
    "vbsll.v": [0x728E0000],
    "vbsrl.v": [0x728E8000],
    "vextrins.d": [0x73800000],
    "vextrins.w": [0x73840000],
    "vextrins.h": [0x73880000],
    "vextrins.b": [0x738C0000],
    "vshuf4i.b": [0x73900000],
    "vshuf4i.h": [0x73940000],
    "vshuf4i.w": [0x73980000],
    "vshuf4i.d": [0x739C0000],
    "vbitseli.b": [0x73C40000],
    "vandi.b": [0x73D00000],
    "vori.b": [0x73D40000],
    "vxori.b": [0x73D80000],
    "vnori.b": [0x73DC0000],
    "vpermi.w": [0x73E40000],
    "vldi": [
        *(0x73E00000 + 0x8000 * size for size in range(4)),
        *(0x73E20000 + 0x2000 * mode for mode in range(13)),
    ],
}


def opcodes() -> Iterator[tuple[str, int]]:
    """The mnemonic and opcode of every instruction that is added."""
    for n, letter in enumerate(LETTERS):
        for family, suffix, offset in (
            (CONSECUTIVE, letter, 0x8000 * n),
            (CONSECUTIVE_UNSIGNED, f"{letter}u", 0x8000 * n),
            (UNARY, letter, 0x400 * n),
            (AMOUNTS, letter, 0x2000 << n),
            (NUMBERS, letter, NUMBER_BITS[n]),
            (NUMBERS_UNSIGNED, f"{letter}u", NUMBER_BITS[n]),
            (LANES_IN_MEMORY, letter, LANE_BITS[n]),
        ):
            for name, opcode in family.items():
                yield f"{name}.{suffix}", opcode + offset
    for name, several in OTHERS.items():
        for opcode in several:
            yield name, opcode


OPCODES = tuple(opcodes())


def form_of(opcode: int) -> Form:
    return encoding_of(ARCH).form(opcode.to_bytes(4, "little"))


def validation(states: int, lifter: Lifter) -> Validation:
    forms = [form_of(opcode) for _, opcode in OPCODES]
    return validate_all(by_name(ARCH), [], states, forms=forms, lifter=lifter)


def test_every_addition_is_in_the_table() -> None:
    vectors = {name for name in loongarch64.SEMANTICS if name.startswith("v")}
    assert {name for name, _ in OPCODES} == vectors


def test_our_semantics_agree_with_qemu() -> None:
    if qemu.lacking(ARCH):
        pytest.skip(qemu.lacking(ARCH))
    found = validation(STATES, engine_for)
    assert [group.mnemonics for group in found.groups if not group.passed] == []
    assert len(found.groups) == len(OPCODES)


def test_stock_semantics_has_none_of_them() -> None:
    """When this fails, SLEIGH has a meaning for what `passed`, and ours may go."""
    found = validation(16, stock)
    assert [group.mnemonics for group in found.groups if group.passed] == []
    assert {row.reason for row in found.rows} == {"P-code operation CALLOTHER is opaque"}
    assert {group.form: group.mnemonics for group in found.groups} == {
        form_of(opcode): (name,) for name, opcode in OPCODES
    }


def vldi(number: int, field: int) -> int:
    return 0x73E00000 | field << 5 | number


def test_reserved_constants_are_refused() -> None:
    for mode in (13, 14, 15):
        with pytest.raises(Unsupported, match=f"vldi in the reserved mode {mode}"):
            run(ARCH, [vldi(0, 0x1000 | mode << 8)])


@pytest.mark.parametrize("shuffle", [0x0D500041, 0x717A8041, 0x717B0041, 0x717B8041])
@pytest.mark.parametrize(("number", "defined"), [(3, True), (0x3F, True), (0x40, False)])
def test_lane_numbers_on_which_processors_differ(shuffle: int, number: int, defined: bool) -> None:
    """vshuf.b $vr1, $vr2, $vr0, $vr0, and the others, whose numbers are in vr1."""
    of_bytes = shuffle >> 20 == 0xD5
    numbers = [vldi(0, number), vldi(1, number if of_bytes else 0x0C00 | number)]
    _, registers = run(ARCH, [*numbers, shuffle])
    found = variables([registers["fa1"], registers["vr1.high"]])
    assert any(term.name.startswith(UNDEFINED) for term in found) is not defined


def test_a_floating_point_register_is_half_of_a_vector() -> None:
    """The other half is then undefined, and nothing says that it is cleared."""
    # vinsgr2vr.d $vr3, $a4, 1; movgr2fr.d $fa3, $zero
    _, registers = run(ARCH, [0x72EBF503, 0x0114A803])
    assert registers["fa3"] is const(0, 64)
    before, undefined = sorted(variables([registers["vr3.high"]]), key=lambda term: term.name)
    assert before.name == "init_a4"
    assert undefined.name.startswith(UNDEFINED)


def test_a_vector_instruction_defines_both_halves() -> None:
    # movgr2fr.d $fa3, $a4; vldi $vr3, 0x1002 (each word 2)
    _, registers = run(ARCH, [0x0114A903, vldi(3, 0x1002)])
    assert registers["fa3"] is const(0x0000000200000002, 64)
    assert registers["vr3.high"] is const(0x0000000200000002, 64)


@pytest.mark.parametrize("lasx", [0x740B0C41, 0x76A08441, 0x2C800081])
def test_vectors_of_256_bits_are_refused(lasx: int) -> None:
    """xvadd.w, xvrotri.w, xvld: the upper half of a register is not modelled."""
    with pytest.raises(Unsupported, match="CALLOTHER is opaque"):
        run(ARCH, [lasx])
