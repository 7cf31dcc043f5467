"""Whole calls agree with the symbolic result, and a fault in any part of it is seen."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
from angr import claripy
from rich.console import Console

from tests.proving import segments_of_program, target_of
from tests.tables import faulty
from tests.validate.readings import stock, with_fault
from verify.arch.patching import Condition
from verify.lift.memory import STACK, Place
from verify.target import Alternative
from verify.terms import Linear
from verify.validate.encodings import Form
from verify.validate.model import Row, Validation, Whole, exit_code
from verify.validate.report import print_wholes, to_json
from verify.validate.whole import WRAPS, calls, compare, compare_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRIALS, SPLIT = 32, 8
ALL = TRIALS + 2 * (SPLIT - 1)
PROGRAMS = [
    f"{architecture}/{name}.so"
    for architecture in ("loongarch64", "powerpc64le", "riscv64", "x86_64")
    for name in ("looped", "unrolled")
]


@pytest.mark.parametrize(
    "program", [*PROGRAMS, "arm64/looped.so", "s390x/looped.so", "loongarch64/lsx.so"]
)
def test_own_programs(program: str) -> None:
    whole = compare(target_of(program), "", TRIALS, split=SPLIT)
    assert (whole.trials, whole.mismatches, whole.reason) == (ALL, 0, "")
    assert whole.passed
    assert whole.registers > 30


def test_calls() -> None:
    """1000 random ones, around every wrap, and the 127 splits of 128 blocks."""
    found = list(calls(1000))
    assert len(found) == 1000 + 2 * 127
    random, splits = found[:1000], found[1000:]
    assert {one.nblocks for one in random} == set(range(1, 9))
    for wrap in WRAPS:
        crossing = [one for one in random if 0 < (wrap - one.counter) % 2**64 < one.nblocks]
        assert len(crossing) > 10
    pairs = list(zip(splits[::2], splits[1::2], strict=True))
    assert [first.nblocks for first, _ in pairs] == list(range(1, 128))
    for first, second in pairs:
        assert first.nblocks + second.nblocks == 128
        assert second.key == first.key
        assert second.counter == first.counter + first.nblocks
    assert len({one.seed for one in found}) == len(found)
    assert list(calls(5, seed=1)) != list(calls(5))


def test_stock_semantics_of_loongarch_differ() -> None:
    """Its rotates shift in signs."""
    whole = compare(target_of("loongarch64/looped.so"), "", TRIALS, split=SPLIT, lifter=stock)
    assert whole.mismatches == whole.trials == ALL
    assert not whole.passed
    assert whole.first is not None
    assert whole.first.where.startswith("memory at dst + ")


def register(name: str) -> int:
    """Where the lifter keeps a register of LoongArch."""
    offset, _ = segments_of_program("loongarch64/looped.so").engine.layout.registers[name]
    return offset


def spoil_register(successors: list[Any]) -> None:
    """A register that the function does not use grows with every block of code."""
    for one in successors:
        machine = one.machine
        machine.put(register("r21"), machine.get(register("r21"), 8) + 1)


def spoil_memory(region: str, offset: int) -> Callable[[list[Any]], None]:
    """A byte of a region that the function does not write becomes one of a register."""

    def spoil(successors: list[Any]) -> None:
        for one in successors:
            value = one.machine.get(register("a3"), 8)[7:0]
            one.machine.memory.store(Place(region, Linear(64, 0), offset), value)

    return spoil


FAULTS = {
    "r21": spoil_register,
    "memory at sp - 600": spoil_memory(STACK, -600),
    "memory at counter + 11": spoil_memory("counter", 11),
    "memory at key + 31": spoil_memory("key", 31),
}


@pytest.mark.parametrize("where", FAULTS)
def test_faults(where: str) -> None:
    lifter = with_fault(FAULTS[where])
    whole = compare(target_of("loongarch64/looped.so"), "", TRIALS, split=SPLIT, lifter=lifter)
    assert whole.mismatches > ALL // 2
    assert whole.first is not None
    assert whole.first.where == where


def test_a_register_that_nothing_gives_a_value() -> None:
    """The engine's temporaries are not registers of the ABI."""

    def fault(successors: list[Any]) -> None:
        for one in successors:
            value = claripy.BVS("init_unheard_of", 64, explicit_name=True)
            one.machine.put(register("r21"), value)

    lifter = with_fault(fault)
    whole = compare(target_of("loongarch64/looped.so"), "", TRIALS, split=SPLIT, lifter=lifter)
    assert (whole.trials, whole.passed) == (0, False)
    assert whole.reason == "what it does depends on init_unheard_of, which no call gives a value"


def test_each_variant_once(tmp_path: Path) -> None:
    target = faulty("x86_64").target(tmp_path)
    wholes = compare_all([target, dataclasses.replace(target, source="again")], 4, split=2)
    assert [(one.variant, one.passed) for one in wholes] == [
        ("as in the file", True),
        ("cpu feature 0*32+26", True),
    ]


def test_what_cannot_be_compared_is_not_done() -> None:
    target = target_of("x86_64/looped.so")
    (unusable,) = compare_all([dataclasses.replace(target, unusable="it is damaged")], 4)
    assert (unusable.reason, unusable.passed) == ("it is damaged", False)
    one = Alternative(target.function.address, b"\x90", Condition(), "it is odd")
    (refused,) = compare_all([dataclasses.replace(target, alternatives=(one,))], 4)
    assert "but it is odd" in refused.reason


@pytest.mark.usefixtures("without_qemu")
def test_without_qemu_nothing_passes() -> None:
    whole = compare(target_of("powerpc64le/looped.so"), "", 4)
    assert (whole.trials, whole.passed) == (0, False)
    assert "sudo apt-get install qemu-user" in whole.reason


def test_report(capsys: pytest.CaptureFixture[str]) -> None:
    good = compare(target_of("x86_64/looped.so"), "as in the file", 4, split=2)
    bad = compare(target_of("loongarch64/looped.so"), "", 4, split=2, lifter=stock)
    missing = dataclasses.replace(good, trials=0, reason="QEMU is missing")
    print_wholes(Console(width=120), (good, bad, missing))
    output = capsys.readouterr().out
    assert bad.first is not None
    assert "DIFFERS" in output
    assert (
        f"counter {bad.first.counter:#x}; {bad.first.where}: QEMU {bad.first.expected:#x}" in output
    )
    assert "not done: QEMU is missing" in output
    document = json.loads(to_json((), (good, bad)))
    first, second = document["functions"]
    assert (first["trials"], first["mismatches"], first["passed"], first["first"]) == (
        6,
        0,
        True,
        None,
    )
    assert second["first"]["where"] == bad.first.where
    assert [int(word, 16) for word in second["first"]["key"]] == list(bad.first.key)


def test_exit_code() -> None:
    good = Whole("a", "f", "", trials=4)
    bad = dataclasses.replace(good, mismatches=1)
    missing = dataclasses.replace(good, trials=0, reason="QEMU is missing")
    passed = Validation("x", "qemu", "", 1, 0, (), ROWS)
    assert exit_code([passed], [good]) == 0
    assert exit_code([passed], [good, bad]) == exit_code([passed], [missing, bad]) == 1
    assert exit_code([passed], [good, missing]) == 3
    assert exit_code([], [good]) == 3


ROWS = (Row(b"", "nop", Form(0, 0, 4), True, 1, 0, None, ""),)
