"""The instructions of each case are logged one by one."""

from __future__ import annotations

import pytest

from tests.qemu.test_run import CODE, RETURN, words
from verify import qemu

# LoongArch: addi.d $a0, $a0, -1; bnez $a0, -4; then a return. Intel 64: nop; rep lodsb.
LOOP = words(0x02FFFC84, 0x47FFFC9F) + RETURN["loongarch64"]
NOP = words(0x03400000)
REPEATED = bytes.fromhex("90f3ac") + RETURN["x86_64"]


def traced(
    arch: str, code: bytes, *registers: dict[str, int], memory: tuple[tuple[int, bytes], ...] = ()
) -> list[tuple[int, ...]]:
    """The offsets of the instructions that are executed from each of these registers."""
    cases = [qemu.Case(one, memory) for one in registers]
    watched = CODE, CODE + len(code) - 1
    found = qemu.trace(arch, [(CODE, code)], CODE, cases, watched, timeout=20)
    assert [outcome.signal for outcome, _ in found] == [None] * len(registers)
    return [tuple(at - CODE for at in trace) for _, trace in found]


def test_each_as_often_as_it_is_executed() -> None:
    once, thrice = traced("loongarch64", NOP + LOOP, {"a0": 1}, {"a0": 3})
    assert once == (0, 4, 8, 12)
    assert thrice == (0, 4, 8, 4, 8, 4, 8, 12)


def test_what_comes_back_to_the_entry_is_refused() -> None:
    with pytest.raises(qemu.QemuError, match="does not log the instructions of each case"):
        traced("loongarch64", LOOP, {"a0": 2}, {"a0": 1})


def test_a_single_case_may_come_back_to_the_entry() -> None:
    assert traced("loongarch64", LOOP, {"a0": 2}) == [(0, 4, 0, 4, 8)]


def test_only_the_range_is_logged() -> None:
    (found,) = qemu.trace(
        "loongarch64", [(CODE, LOOP)], CODE, [qemu.Case({"a0": 1})], (CODE, CODE + 3), timeout=20
    )
    assert found[1] == (CODE,)


def test_steps_of_one_instruction_stand_behind_each_other() -> None:
    (found,) = traced(
        "x86_64", REPEATED, {"rcx": 3, "rsi": 0x20_0000}, memory=((0x20_0000, bytes(8)),)
    )
    assert found[:4] == (0, 1, 1, 1)
    assert found[-1] == 3
