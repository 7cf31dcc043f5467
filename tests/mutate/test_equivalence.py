"""An argument for equivalence is found for changes without effect, and never for a fault."""

from __future__ import annotations

import pytest

from tests.proving import target_of
from verify.mutate.equivalence import Comparison, Relation, equivalence
from verify.mutate.model import Mutant, Operator, patched
from verify.target import Target

LOONGARCH, POWERPC = "loongarch64/looped.so", "powerpc64le/looped.so"
NOP = {LOONGARCH: 0x03400000, POWERPC: 0x60000000}


def words(target: Target) -> list[int]:
    data = target.function_bytes
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def changed(program: str, changes: dict[int, int]) -> Target:
    """The program with other words at some places (indices of instructions)."""
    target = target_of(program)
    for index, word in changes.items():
        address = target.function.address + 4 * index
        target = patched(target, address, word.to_bytes(4, "little"))
    return target


def find(program: str, *sequence: int) -> int:
    """The index of the first of these consecutive words, which occur."""
    code = words(target_of(program))
    for index in range(len(code)):
        if code[index : index + len(sequence)] == list(sequence):
            return index
    raise AssertionError(sequence)


# li.w-like clears in the epilogues: `move reg, $zero` is `or reg, $zero, $zero`.
CLEAR_A5, CLEAR_A6 = 0x00150009, 0x0015000A


def test_a_register_that_differs_at_the_return_is_looked_at_with_other_keys() -> None:
    """The high word of the counter is stored; what is above it in the register is not used."""
    shift, rotate = 0x004580A5, 0x004D80A5  # srli.d, rotri.d a1, a1, 32
    code = words(target_of(LOONGARCH))
    at = len(code) - 1 - code[::-1].index(shift)
    argument = equivalence(target_of(LOONGARCH), changed(LOONGARCH, {at: rotate}))
    assert argument.endswith("a1 at the return is the same for 64 pairs of keys")


def test_a_wider_load_of_what_is_read_anyway_only_changes_unused_bits() -> None:
    word, double = 0x288000B8, 0x28C000B8  # ld.w, ld.d s1, a1, 0
    at = find(LOONGARCH, word)
    argument = equivalence(target_of(LOONGARCH), changed(LOONGARCH, {at: double}))
    assert "s1" in argument and argument.endswith("may differ behind it, unused")


def test_a_register_that_is_narrower_than_a_word_may_differ() -> None:
    """addc instead of add sets the carry, which nothing reads before it is set again."""
    add, addc = 0x7E940214, 0x7E940014  # r20, r20, r0
    at = find(POWERPC, add)
    assert equivalence(target_of(POWERPC), changed(POWERPC, {at: addc}))


def test_independent_instructions_may_be_swapped() -> None:
    at = find(LOONGARCH, CLEAR_A5, CLEAR_A6)
    mutant = changed(LOONGARCH, {at: CLEAR_A6, at + 1: CLEAR_A5})
    assert "does the same from any state" in equivalence(target_of(LOONGARCH), mutant)


def test_a_lifter_may_cut_the_mutant_elsewhere() -> None:
    """RISC-V's roriw ends a block of the lifter, and changes places with the next instruction."""
    target = target_of("riscv64/looped.so")
    swapped = "1b5e4e61 3b075700"  # roriw t3, t3, 0x14; addw a4, a4, t0
    rotate, addition = map(bytes.fromhex, swapped.split())
    at = target.function.address + target.function_bytes.index(rotate + addition)
    mutant = patched(target, at, addition + rotate)
    assert equivalence(target, mutant).endswith("does the same from any state")


def test_a_cleared_register_may_be_any_constant() -> None:
    at = find(LOONGARCH, CLEAR_A5, CLEAR_A6)
    one = 0x02800400 | 9  # addi.w a5, zero, 1
    argument = equivalence(target_of(LOONGARCH), changed(LOONGARCH, {at: one}))
    assert argument.endswith("a5 may differ behind it, unused")


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ("is left as it is", 0x03400000),
        ("is what another register holds", 0x00150009 | 12 << 5),  # move a5, t0
        ("is loaded from elsewhere", 0x28840000 | 3 << 5 | 9),  # ld.w a5, sp, 256
    ],
)
def test_a_cleared_register_may_not_be_anything_else(what: str, word: int) -> None:
    at = find(LOONGARCH, CLEAR_A5, CLEAR_A6)
    assert equivalence(target_of(LOONGARCH), changed(LOONGARCH, {at: word})) == "", what


@pytest.mark.every_fault
@pytest.mark.parametrize("program", [LOONGARCH, POWERPC])
def test_no_single_deletion_is_called_equivalent_if_it_breaks_something(program: str) -> None:
    """An instruction is deleted; what QEMU shows broken must have no argument."""
    from verify.witness import search

    target = target_of(program)
    broken = 0
    for index in range(0, len(words(target)), 20):
        mutant = changed(program, {index: NOP[program]})
        if search(mutant):
            broken += 1
            assert equivalence(target, mutant) == "", index
    assert broken >= 8


@pytest.mark.parametrize("program", [LOONGARCH, POWERPC])
def test_two_words_of_output_may_not_change_places(program: str) -> None:
    """Two stores may be swapped, but not only what they store."""
    target = target_of(program)
    code = words(target)
    store = 0x29800000 if program == LOONGARCH else 0x90000000
    mask = 0xFFC00000 if program == LOONGARCH else 0xFC000000
    at = next(
        index
        for index in range(len(code) - 1)
        if code[index] & mask == store == code[index + 1] & mask
    )
    registers = 0x1F if program == LOONGARCH else 0x1F << 21
    one, two = code[at], code[at + 1]
    swapped = {
        at: one & ~registers | two & registers,
        at + 1: two & ~registers | one & registers,
    }
    assert equivalence(target, changed(program, swapped)) == ""
    assert equivalence(target, changed(program, {at: two, at + 1: one})) != ""


PERMUTE = "e7111000118c"
"""vperm %v1, %v1, %v1, %v17"""


@pytest.mark.parametrize(
    ("other", "holds"),
    [
        ("e7112000118c", True),  # %v1, %v1, %v2, %v17: no byte of the second one is chosen
        ("e7211000118c", False),  # %v2, %v1, %v1, %v17
        ("e7121000118c", False),  # %v1, %v2, %v1, %v17
        ("e7111000018c", False),  # the numbers are in %v16
    ],
)
def test_a_constant_of_the_function_decides(other: str, holds: bool) -> None:
    target = target_of("s390x/looped.so")
    at = target.function.address + target.function_bytes.index(bytes.fromhex(PERMUTE))
    argument = equivalence(target, patched(target, at, bytes.fromhex(other)))
    assert argument.endswith("from any state with the function's values in v16, v17") is holds
    assert bool(argument) is holds


def test_constants_are_those_that_no_way_changes() -> None:
    """The permutation is loaded in front of both loops; the count of rounds changes in one."""
    target = target_of("s390x/looped.so")
    known = Comparison(target, target).constants
    held = [
        {register.name for register, values in block.items() if len(values) == 1}
        for block in known.values()
    ]
    assert len(held) == 5 and held[0] == set()
    assert all({"init_v16", "init_v17"} <= block for block in held[1:])


COUNT_DOWN = 0x02BFFCC6  # addi.w a2, a2, -1


@pytest.mark.parametrize(
    ("word", "holds"),
    [
        (0x02FFFCC6, True),  # addi.d a2, a2, -1
        (0x02BFF8C6, False),  # addi.w a2, a2, -2: five double rounds
        (0x02800006, False),  # addi.w a2, zero, 0: one double round
    ],
)
def test_the_count_of_rounds_is_one_of_ten_values(word: int, holds: bool) -> None:
    """A sum of 32 and one of 64 bits differ in some state, but not in one that is reached."""
    at = find(LOONGARCH, COUNT_DOWN)
    argument = equivalence(target_of(LOONGARCH), changed(LOONGARCH, {at: word}))
    assert argument.endswith("from any state with the function's values in a2") is holds
    assert bool(argument) is holds


def test_the_values_of_a_register_that_counts() -> None:
    target = target_of(LOONGARCH)
    known = Comparison(target, target).constants
    counts = [
        values
        for block in known.values()
        for register, values in block.items()
        if register.name == "init_a2" and len(values) > 1
    ]
    assert counts == [frozenset(range(1, 11))]


def test_relations_join() -> None:
    for one in Relation:
        assert one.joined(one) is one
        assert one.joined(Relation.EQUAL) is one
        assert one.joined(Relation.ANY) is Relation.ANY
    assert Relation.LOW.joined(Relation.CONSTANT) is Relation.ANY


def test_the_same_function_is_equivalent() -> None:
    target = target_of(LOONGARCH)
    assert equivalence(target, target)


def test_a_mutant_is_named_by_its_change() -> None:
    assert Mutant(Operator.SWAP, 0x1234, b"ab", b"ba").id == "swap@0x1234:6261"
