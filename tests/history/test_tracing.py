"""What is executed one instruction at a time does what it does otherwise, and each instruction is
noted; what is stopped at is noted each time."""

from __future__ import annotations

import pytest

from tests.history.programs import program
from verify.history import execute
from verify.history.catalogue import Histories
from verify.history.memory import STACK_DEPTH, STACK_POINTER
from verify.history.tracing import traced
from verify.history.watching import watch
from verify.witness import registers as abi

MAIN = ("loongarch64/getrandom", "powerpc64le/getrandom")
NAMES = ("from the batch", "reseeded twice meanwhile", "no key", "query", "in use")


@pytest.mark.parametrize("name", MAIN)
def test_traces(name: str) -> None:
    one = program(name)
    histories = [Histories(one).named()[each] for each in NAMES]
    found = traced(one, histories)
    assert [each.done for each in found] == execute(one, histories)
    for history, each in zip(histories, found, strict=True):
        calls = [at for at in each.addresses if at in one.system_calls]
        assert len(calls) == sum(len(done.made) for done in each.done)
        assert each.addresses.count(one.entry) == len(history)
        assert {*each.addresses} <= {*one.instructions}
    assert found == traced(one, histories)


@pytest.mark.parametrize("name", MAIN)
def test_visits(name: str) -> None:
    """Each time that the trace has one of the instructions."""
    one = program(name)
    histories = Histories(one)
    step = histories.step(5, state=histories.state(7, 40))
    (trace,) = traced(one, [(step,)])
    repeated = {at for at in trace.addresses if trace.addresses.count(at) > 1}
    (visits,) = watch(one, [(step,)], frozenset(repeated))
    assert [visit.address for visit in visits] == [at for at in trace.addresses if at in repeated]
    assert len(visits) >= 5 * len(repeated) > 10
    name = one.architecture.stack_pointer
    (pointer,) = {abi.read(one.architecture, visit.registers, name) for visit in visits}
    assert STACK_POINTER[64] - STACK_DEPTH < pointer <= STACK_POINTER[64]
    assert watch(one, [(step,)], frozenset()) == [()]
