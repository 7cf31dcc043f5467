"""Wrong readings are found, right ones pass, and what is not compared is never said to pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from angr import claripy

from tests.validate.readings import own_target, stock, target_of, with_fault
from verify import qemu
from verify.arch import by_name
from verify.validate.campaign import VARIATIONS, validate, validate_all
from verify.validate.encodings import encoding_of
from verify.validate.model import Group, Validation, exit_code

ADD = {"loongarch64": 0x00109486, "powerpc64le": 0x7C632214}
STORE = {"loongarch64": 0x29800085, "powerpc64le": 0x90830008}
LOAD = {"loongarch64": 0x28800085, "powerpc64le": 0x80830008}
# bnez a0, +12; bdnz +12
BRANCH = {"loongarch64": 0x44000C80, "powerpc64le": 0x4200000C}
ARCHES = tuple(ADD)


def group(validation: Validation, mnemonic: str) -> Group:
    (found,) = (group for group in validation.groups if mnemonic in group.mnemonics)
    return found


@pytest.mark.parametrize(
    "name", ["loongarch64/looped.so", "powerpc64le/looped.so", "riscv64/looped.so"]
)
def test_every_instruction_of_a_binary_is_read_as_qemu_executes_it(name: str) -> None:
    validation = validate(own_target(name), 32)
    assert [row.text for row in validation.rows if row.mismatches] == []
    assert {row.reason.split(" ")[0] for row in validation.rows} <= {"", "only"}
    assert all(len(group.rows) > VARIATIONS // 2 for group in validation.groups)


# Opcode, mnemonic: the faults of the SLEIGH that pypcode ships.
FAULTS = [
    (0x001B0000, "rotr.w"),
    (0x001B8000, "rotr.d"),
    (0x004C8000, "rotri.w"),
    (0x004D0000, "rotri.d"),
    (0x00410000, "slli.d"),
    (0x00450000, "srli.d"),
    (0x00490000, "srai.d"),
    (0x00600000, "bstrins.w"),
    (0x00800000, "bstrins.d"),
    (0x00080000, "bytepick.w"),
    (0x000C0000, "bytepick.d"),
    (0x00004000, "revh.2w"),
    (0x00004400, "revh.d"),
    (0x001C0000, "mul.w"),
    (0x001C8000, "mulh.w"),
    (0x001D0000, "mulh.wu"),
    (0x001D8000, "mul.d"),
    (0x001E0000, "mulh.d"),
    (0x001E8000, "mulh.du"),
    (0x00200000, "div.w"),
    (0x00208000, "mod.w"),
    (0x00210000, "div.wu"),
    (0x00220000, "div.d"),
    (0x00228000, "mod.d"),
    (0x00230000, "div.du"),
    (0x0114DC00, "movcf2gr"),
]


def loongarch_forms(*, ours: bool) -> Validation:
    encoding = encoding_of("loongarch64")
    forms = [encoding.form(opcode.to_bytes(4, "little")) for opcode, _ in FAULTS]
    architecture = by_name("loongarch64")
    if ours:
        return validate_all(architecture, [], forms=forms)
    return validate_all(architecture, [], forms=forms, lifter=stock)


def test_our_semantics_agree_with_qemu() -> None:
    validation = loongarch_forms(ours=True)
    assert [name for _, name in FAULTS if not group(validation, name).passed] == []
    assert validation.passed
    assert exit_code([validation]) == 0


def test_every_replacement_of_stock_semantics_is_necessary() -> None:
    validation = loongarch_forms(ours=False)
    assert [name for _, name in FAULTS if group(validation, name).passed] == []
    for name in ("rotri.w", "slli.d", "srai.d", "bstrins.d"):
        assert group(validation, name).mismatches > 0
    assert exit_code([validation]) == 1


def _lose_write(successors: Any) -> None:
    for successor in successors:
        successor.machine.register_writes.clear()


def _extra_write(successors: Any) -> None:
    machine = successors[0].machine
    for write in machine.register_writes[:1]:
        machine.put(write.offset + 8, claripy.BVV(1, 64))


def _wrong_value(successors: Any) -> None:
    machine = successors[0].machine
    for write in machine.register_writes[:1]:
        machine.put(write.offset, machine.get(write.offset, 8) & ~claripy.BVV(1 << 63, 64))


def _wrong_byte(successors: Any) -> None:
    memory = successors[0].machine.memory
    memory.stored = [value ^ claripy.BVV(1 << 31, 32) for value in memory.stored]


def _no_store(successors: Any) -> None:
    machine = successors[0].machine
    machine.accesses = [access for access in machine.accesses if access.kind != "write"]


def _shifted_access(successors: Any) -> None:
    machine = successors[0].machine
    machine.accesses = [
        replace(access, address=machine.converter.term(machine.converter.leaf(access.address) + 1))
        for access in machine.accesses
    ]


def _swapped_targets(successors: Any) -> None:
    if len(successors) == 2:
        first, second = successors
        successors[:] = [
            replace(first, target=second.target),
            replace(second, target=first.target),
        ]


def _both_ways(successors: Any) -> None:
    for successor in successors:
        successor.machine.guards.clear()


def _one_way(successors: Any) -> None:
    del successors[1:]


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("words", "fault", "where"),
    [
        (ADD, _lose_write, "a2|r3"),
        (ADD, _extra_write, "a3|r4"),
        (ADD, _wrong_value, "a2|r3"),
        (STORE, _wrong_byte, "memory at 0x"),
        (STORE, _no_store, "control flow"),
        (STORE, _shifted_access, "memory at 0x"),
        (LOAD, _shifted_access, "a1|r4"),
        (BRANCH, _swapped_targets, "control flow"),
        (BRANCH, _both_ways, "number of ways"),
        (BRANCH, _one_way, "number of ways"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_in_the_reading_is_found(
    arch: str, words: dict[str, int], fault: Any, where: str
) -> None:
    right = validate(target_of(arch, words[arch]), 32)
    assert not right.mismatches
    wrong = validate(target_of(arch, words[arch]), 32, lifter=with_fault(fault))
    (row,) = (
        row for row in wrong.rows if row.code == words[arch].to_bytes(4, "little") and row.occurs
    )
    assert row.mismatches and row.first is not None
    assert any(row.first.where.startswith(name) for name in where.split("|"))
    assert row.first.expected != row.first.got
    assert not row.passed
    assert exit_code([wrong]) == 1


@pytest.mark.parametrize("arch", ARCHES)
def test_the_same_seed_gives_the_same_states(arch: str) -> None:
    target = target_of(arch, ADD[arch])
    first, again, other = (
        validate(target, 16, seed, lifter=with_fault(_lose_write)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


class TestNotDone:
    @pytest.mark.usefixtures("without_qemu")
    @pytest.mark.parametrize("arch", ARCHES)
    def test_without_qemu(self, arch: str) -> None:
        validation = validate(target_of(arch, ADD[arch]))
        assert not validation.passed and not any(row.checked for row in validation.rows)
        assert {row.reason for row in validation.rows} == {qemu.install_hint(arch)}
        assert exit_code([validation]) == 3

    def test_what_qemu_does_not_execute(self) -> None:
        # popcntw with the record bit set, which it does not have: VEX reads it all the same.
        validation = validate(target_of("powerpc64le", 0x7F0502F5), 16)
        (row,) = (row for row in validation.rows if row.code == (0x7F0502F5).to_bytes(4, "little"))
        assert (row.checked, row.passed, row.states) == (False, False, 0)
        assert "SIGILL" in row.reason
        assert exit_code([validation]) == 3

    def test_what_qemu_fails_on(self) -> None:
        # lmw r19, 0(r3), which little-endian mode does not have: QEMU ends with an error.
        validation = validate(target_of("powerpc64le", ADD["powerpc64le"], 0xBA630000), 16)
        (row,) = (row for row in validation.rows if row.occurs and row.mnemonic == "lmw")
        assert (row.checked, row.passed, row.states) == (False, False, 0)
        assert group(validation, "add").passed
        assert exit_code([validation]) == 3

    def test_what_the_engine_has_no_meaning_for(self) -> None:
        validation = validate(target_of("loongarch64", 0x00006C85), 16)
        (row,) = (row for row in validation.rows if row.occurs and row.mnemonic == "cpucfg")
        assert (row.checked, row.states) == (False, 0)
        assert "opaque" in row.reason
        assert exit_code([validation]) == 3

    def test_system_calls_are_not_executed(self) -> None:
        validation = validate(target_of("powerpc64le", 0x44000002), 16)
        (row,) = (row for row in validation.rows if row.occurs and row.mnemonic == "sc")
        assert (row.checked, row.states) == (False, 0)
        assert "Ijk_Sys" in row.reason

    def test_a_branch_to_itself(self) -> None:
        validation = validate(target_of("powerpc64le", 0x48000000), 16)
        (row,) = (row for row in validation.rows if row.occurs and row.mnemonic == "b")
        assert row.reason == "it branches to itself"

    def test_a_way_that_no_state_takes(self) -> None:
        def never(successors: Any) -> None:
            if len(successors) == 2:
                extra = replace(successors[0], machine=successors[0].machine.copy())
                extra.machine.guards.append(claripy.BoolV(False))
                successors.append(extra)

        target = target_of("loongarch64", BRANCH["loongarch64"])
        validation = validate(target, 32, lifter=with_fault(never))
        (row,) = (row for row in validation.rows if row.occurs and row.mnemonic == "bnez")
        assert row.reason == "only 2 of 3 ways through it were taken"
        assert not row.passed

    def test_an_architecture_that_qemu_does_not_run_here(self) -> None:
        architecture = replace(by_name("loongarch64"), name="m68k", title="Motorola 68000")
        target = replace(target_of("loongarch64"), architecture=architecture)
        validation = validate(target)
        assert validation.reason == "there is no runner for Motorola 68000 under QEMU"
        assert not validation.passed and exit_code([validation]) == 3

    def test_nothing_is_not_a_pass(self) -> None:
        assert exit_code([]) == 3


def test_bits_that_are_not_modelled_are_named() -> None:
    validation = validate(target_of("powerpc64le", ADD["powerpc64le"]), 16)
    assert validation.unmodelled == ("xer & 0xffffffff1fffff80",)
