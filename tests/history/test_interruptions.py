"""Calls that are interrupted at an instruction: the state is wiped, the kernel reseeds, or a signal
handler calls the function again. Whatever the instruction, what comes of it is what the
specification allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.history.interrupting import SHOWN, near_system_calls, wrong
from tests.history.programs import EACH_ONCE, FAULTS, faulty, named, program
from verify.history import execute
from verify.history.catalogue import Histories, at

if TYPE_CHECKING:
    from binaries.patches import Fault

MAIN = ("loongarch64/getrandom", "powerpc64le/getrandom")


@pytest.mark.parametrize("name", MAIN)
def test_at_some_instructions(name: str) -> None:
    one = program(name)
    steps = list(Histories(one).interrupted().values())
    interrupted, found = wrong(one, steps, one.instructions[::25])
    assert found == []
    assert interrupted > 60


@pytest.mark.long
@pytest.mark.parametrize("name", EACH_ONCE)
def test_at_every_instruction(name: str) -> None:
    one = program(name)
    steps = list(Histories(one).interrupted().values())
    interrupted, found = wrong(one, steps, one.instructions)
    assert found == []
    assert interrupted > 4 * len(one.instructions)


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.name in SHOWN],
    ids=named,
)
def test_a_fault_shows(fault: Fault) -> None:
    binary = faulty(fault)
    step = Histories(binary).interrupted()[SHOWN[fault.name]]
    interrupted, found = wrong(binary, [step], near_system_calls(binary))
    assert 0 < len(found) <= interrupted


def test_without_interruption_nothing_happens() -> None:
    one = program(MAIN[0])
    step = Histories(one).interrupted()["wiped within the batch"]
    (done,) = execute(one, [at(step, max(one.instructions) + 4)])
    assert done[0].interrupted == 0
    assert done[0].result == step.call.len
