"""The descriptions of the architectures fit their lifters and their ABIs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verify.arch import (
    ARCHITECTURES,
    ON_STACK,
    Architecture,
    Register,
    Saved,
    by_name,
    find_architecture,
)
from verify.lift.engine import Engine
from verify.lift.select import engine_for

OTHERS = tuple(other for one in ARCHITECTURES if (other := one.read_by_other()) is not None)
READINGS = pytest.mark.parametrize(
    "architecture", [*ARCHITECTURES, *OTHERS], ids=lambda a: f"{a.name}-{a.lifter.engine}"
)
ALL = pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda a: a.name)

CALLEE_SAVED = {
    "arm64": {"sp", *(f"x{n}" for n in range(19, 30)), *(f"d{n}" for n in range(8, 16))},
    "s390x": {*(f"r{n}" for n in (*range(6, 14), 15)), *(f"f{n}" for n in range(8, 16))},
    "x86_64": {"rbx", "rbp", "rsp", "r12", "r13", "r14", "r15"},
    "riscv64": {"sp", *(f"s{n}" for n in range(12)), *(f"fs{n}" for n in range(12))},
}
RESERVED = {
    "arm64": {"x18", "tpidr_el0"},
    "riscv64": {"gp", "tp"},
    "s390x": {"a0", "a1"},
    "x86_64": set(),
}
CONTROL = {"fpcr", "fpc.masks", "fpc.rounding", "df", "mxcsr.rc", "x87.tags", "x87.top", "x87.rc"}

FLAGS = {"powerpc64": 1, "powerpc64elfv2": 2, "powerpc64le": 2}
"""e_flags of a file, where they tell ABIs apart."""

LENGTHS: dict[str, list[tuple[str, int]]] = {
    "arm64": [("00000000", 4), ("c0035fd6", 4)],
    "arm64be": [("00000000", 4), ("c0035fd6", 4)],
    "loongarch64": [("00000000", 4)],
    "powerpc": [("60000000", 4)],
    "powerpc64": [("60000000", 4)],
    "powerpc64elfv2": [("60000000", 4)],
    "powerpc64le": [("00000060", 4)],
    "riscv64": [("0000", 2), ("8280", 2), ("13000000", 4), ("73000000", 4)],
    "s390x": [("0000", 2), ("07fe", 2), ("47f01000", 4), ("a7f40100", 4), ("c0e500000100", 6)],
    "x86_64": [
        ("c3", 1),
        ("06", 1),
        ("fec8", 2),
        ("660ffeca", 4),
        ("66410ffee0", 5),
        ("0f282da9f1ffff", 7),
        ("48b80102030405060708", 10),
    ],
}


def engine(architecture: Architecture) -> Engine:
    return engine_for(architecture, lambda _address, _size: None)


@READINGS
def test_registers_lie_in_the_lifters_storage(architecture: Architecture) -> None:
    layout = engine(architecture).layout
    for register in architecture.registers:
        _, size = layout.registers[register.storage]
        high, low = register.bits or (8 * size - 1, 0)
        assert 0 <= low <= high < 8 * size, register.name


@READINGS
def test_no_two_registers_share_a_bit(architecture: Architecture) -> None:
    layout = engine(architecture).layout
    taken: set[tuple[int, int]] = set()
    for register in architecture.registers:
        offset, size = layout.registers[register.storage]
        high, low = register.bits or (8 * size - 1, 0)
        bits = {(offset, bit) for bit in range(low, high + 1)}
        assert not bits & taken, register.name
        taken |= bits


@ALL
def test_names_that_others_use_exist(architecture: Architecture) -> None:
    names = [register.name for register in architecture.registers]
    assert len(names) == len(set(names))
    assert {architecture.stack_pointer, *architecture.arguments[:4]} <= set(names)
    assert architecture.return_address in {ON_STACK, *names}
    assert by_name(architecture.name) is architecture
    flags = FLAGS.get(architecture.name, 0)
    found = find_architecture(
        architecture.machine, architecture.bits, architecture.byte_order, flags
    )
    assert found is architecture


@pytest.mark.parametrize(
    ("byte_order", "flags", "name"),
    [
        ("big", 0, "powerpc64"),
        ("big", 1, "powerpc64"),
        ("big", 2, "powerpc64elfv2"),
        ("big", 3, None),
        ("little", 0, "powerpc64le"),
        ("little", 1, None),
        ("little", 2, "powerpc64le"),
        ("little", 0x8000_0002, "powerpc64le"),
    ],
)
def test_flags_tell_the_abi(byte_order: str, flags: int, name: str | None) -> None:
    found = find_architecture("EM_PPC64", 64, byte_order, flags)
    assert (None if found is None else found.name) == name


@ALL
def test_a_return_takes_the_return_address_from_the_stack_or_nothing(
    architecture: Architecture,
) -> None:
    on_stack = architecture.return_address == ON_STACK
    assert architecture.popped_at_return == (architecture.bits // 8 if on_stack else 0)
    assert ((0, architecture.popped_at_return) in architecture.linkage_area) is on_stack


UNKNOWN_TO_ONE = {"vscr"}
"""Registers that only one of two lifters knows."""


@pytest.mark.parametrize("other", OTHERS, ids=lambda a: a.name)
def test_both_lifters_know_the_same_registers(other: Architecture) -> None:
    def uses(architecture: Architecture) -> dict[str, tuple[Saved, int]]:
        layout = engine(architecture).layout

        def width(register: Register) -> int:
            high, low = register.bits or (8 * layout.registers[register.storage][1] - 1, 0)
            return high - low + 1

        known = (r for r in architecture.registers if r.name not in UNKNOWN_TO_ONE)
        return {register.name: (register.saved, width(register)) for register in known}

    assert uses(other) == uses(by_name(other.name))
    assert other.lifter.engine != by_name(other.name).lifter.engine
    assert other.read_by_other() == by_name(other.name)


@pytest.mark.parametrize("name", CALLEE_SAVED)
def test_preserved_registers(name: str) -> None:
    def names(saved: Saved) -> set[str]:
        return {register.name for register in by_name(name).with_saved(saved)}

    assert names(Saved.CALLEE) - CONTROL == CALLEE_SAVED[name]
    assert names(Saved.RESERVED) == RESERVED[name]


@pytest.mark.parametrize(
    ("name", "code", "length"),
    [(name, code, length) for name, rows in LENGTHS.items() for code, length in rows],
)
def test_lengths(name: str, code: str, length: int) -> None:
    measure: Callable[[bytes], int] = by_name(name).instruction_length
    assert measure(bytes.fromhex(code) + bytes(15)) == length


@ALL
def test_the_illegal_instruction_is_a_shortest_one(architecture: Architecture) -> None:
    assert len(architecture.illegal_instruction) == architecture.instruction_alignment
