"""The mutants of a function: each one change to its encoding, complete and without doubles."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from tests.proving import target_of
from verify.lift.select import engine_for
from verify.mutate.model import Mutant, Operator, selection_id
from verify.mutate.operators import mutants_of, sample
from verify.mutate.siblings import siblings_of
from verify.prove.cfg import control_flow
from verify.target import Target
from verify.validate.encodings import Encoding, encoding_of

PROGRAMS = (
    "loongarch64/looped.so",
    "loongarch64/lsx.so",
    "powerpc64le/looped.so",
    "riscv64/looped.so",
    "x86_64/looped.so",
    "arm64/looped.so",
    "s390x/looped.so",
)
MORE = ("arm64/scalar.so", "s390x/reversing.so")
"""Only for what they have that the others have not."""


def instructions_of(target: Target) -> list[int]:
    flow = control_flow(engine_for(target.architecture, target.code), target.function.address)
    return sorted(address for block in flow.blocks.values() for address in block.instructions)


def encoding_for(target: Target) -> Encoding:
    architecture = target.architecture
    return encoding_of(architecture.instruction_set, architecture.byte_order)


@cache
def made(program: str) -> tuple[Mutant, ...]:
    target = target_of(program)
    return mutants_of(target, instructions_of(target))


@pytest.mark.parametrize("program", PROGRAMS)
class TestMutants:
    def test_every_one_differs_from_the_function_and_from_the_others(self, program: str) -> None:
        target = target_of(program)
        codes = {mutant.applied(target).function_bytes for mutant in made(program)}
        assert len(codes) == len(made(program))
        assert target.function_bytes not in codes

    def test_every_one_changes_what_its_operator_says(self, program: str) -> None:
        encoding = encoding_for(target_of(program))
        siblings = siblings_of(target_of(program).architecture.instruction_set)
        for mutant in made(program):
            assert len(mutant.before) == len(mutant.after)
            before, after = encoding.word(mutant.before), encoding.word(mutant.after)
            changed = before ^ after
            kind = encoding.format(mutant.before)
            match mutant.operator:
                case Operator.SWAP:
                    size = target_of(program).instruction_size(mutant.address)
                    assert mutant.after == mutant.before[size:] + mutant.before[:size]
                case Operator.REGISTER:
                    fields = [((1 << width) - 1) << low for low, width in kind.registers]
                    assert sum(bool(changed & field) for field in set(fields)) == 1
                    assert not changed & ~sum(set(fields))
                    assert encoding.form(mutant.after) == encoding.form(mutant.before)
                case Operator.IMMEDIATE:
                    fields = [((1 << width) - 1) << low for low, width in kind.immediates]
                    assert changed.bit_count() == 1 and changed & sum(fields)
                case Operator.BRANCH | Operator.WIDTH | Operator.SIBLING:
                    others = [code for _, code in siblings.others(mutant.before)]
                    assert changed & kind.mask or mutant.after in others
                    assert encoding.format(mutant.after).name != "whole word"
                case Operator.DELETE:
                    assert after == siblings.nops[len(mutant.after)]

    def test_every_instruction_is_deleted_and_swapped(self, program: str) -> None:
        addresses = instructions_of(target_of(program))
        by = {
            operator: {m.address for m in made(program) if m.operator is operator}
            for operator in Operator
        }
        assert by[Operator.DELETE] == set(addresses)
        assert len(by[Operator.SWAP]) >= len(addresses) - 8

    def test_every_bit_of_every_immediate_is_changed(self, program: str) -> None:
        target = target_of(program)
        encoding = encoding_for(target)
        bits = Counter(m.address for m in made(program) if m.operator is Operator.IMMEDIATE)
        for address in instructions_of(target):
            code = target.code(address, target.instruction_size(address)) or b""
            widths = sum(width for _, width in encoding.format(code).immediates)
            # A change that another operator makes, too, counts for that one.
            assert widths - 1 <= bits[address] <= widths or widths == 0

    def test_the_same_seed_makes_the_same_mutants(self, program: str) -> None:
        target = target_of(program)
        again = mutants_of(target, instructions_of(target))
        other = mutants_of(target, instructions_of(target), seed=1)
        assert again == made(program) != other
        assert selection_id(again) == selection_id(made(program)) != selection_id(other)

    def test_samples(self, program: str) -> None:
        mutants = made(program)
        chosen = sample(mutants, 50, 3)
        assert chosen == sample(mutants, 50, 3) != sample(mutants, 50, 4)
        assert len(chosen) == 50
        assert [m for m in mutants if m in set(chosen)] == list(chosen)
        assert sample(mutants, None, 3) == mutants == sample(mutants, 10**6, 3)


def operators_of(*programs: str) -> set[Operator]:
    return {mutant.operator for program in programs for mutant in made(program)}


@pytest.mark.parametrize("arch", ["loongarch64", "powerpc", "riscv64", "x86_64", "arm64", "s390x"])
def test_every_operator_makes_mutants_of_every_instruction_set(arch: str) -> None:
    programs = [p for p in (*PROGRAMS, *MORE) if target_of(p).architecture.instruction_set == arch]
    assert operators_of(*programs) == set(Operator)


@pytest.mark.parametrize(
    ("program", "inverted"),
    [
        ("x86_64/looped.so", "je"),
        ("arm64/looped.so", "b.eq"),
        ("riscv64/looped.so", "beqz"),
        ("s390x/reversing.so", "cgijlh"),
    ],
)
def test_a_condition_is_inverted(program: str, inverted: str) -> None:
    target = target_of(program)
    names = set()
    for mutant in made(program):
        if mutant.operator is Operator.BRANCH:
            engine = engine_for(target.architecture, mutant.applied(target).code)
            ((_, text),) = engine.disassemble(mutant.address, len(mutant.after))
            names.add(text.split()[0])
    assert inverted in names


@pytest.mark.parametrize("arch", ["loongarch64", "powerpc", "riscv64", "arm64", "s390x"])
def test_siblings_are_opcodes_of_known_formats(arch: str) -> None:
    encoding, siblings = encoding_of(arch), siblings_of(arch)
    for group in (group for groups in siblings.groups.values() for group in groups):
        assert len(set(group)) == len(group) > 1
        for opcode in group:
            assert any(
                known.matches(opcode, known.size) and opcode & known.mask == opcode
                for known in encoding.formats
            ), hex(opcode)


def test_a_change_to_other_bytes_is_refused() -> None:
    target = target_of(PROGRAMS[0])
    mutant = Mutant(Operator.DELETE, target.function.address, b"\1\2\3\4", bytes(4))
    with pytest.raises(ValueError, match="are others"):
        mutant.applied(target)


def test_an_instruction_set_without_siblings() -> None:
    with pytest.raises(KeyError):
        siblings_of("m68k")
