"""A block loop that is entered from two sides: what one changed is not known at its head."""

from __future__ import annotations

import pytest

from tests.prove.test_segments import WORD, Words, body, per_machine, segments
from tests.witness.programs import Machine
from verify.decide import Answer, valid
from verify.lift.angr_import import import_angr

import_angr()

from verify.prove.segments import Segments  # noqa: E402


def entered(machine: Machine, cleared_first: bool) -> Segments:
    """A loop behind a branch: on one side a register that the loop keeps is cleared, on the other
    nothing is changed. Paths are followed straight on first."""
    idle, over, clear = machine.branch(WORD), machine.branch(2 * WORD), machine.zero("other")
    first, second = ([clear, over], [idle]) if cleared_first else ([idle, over], [clear])
    size = len(machine.branch_if_not_zero("key", 0)) + len(first)
    enter: list[Words] = [machine.branch_if_not_zero("key", WORD * size), *first, *second]
    *loop, back = body(machine)
    return segments(machine, *enter, *loop, machine.store("other", "counter", 0), back)


@per_machine
@pytest.mark.parametrize("cleared_first", [False, True])
def test_what_one_arrival_changed_is_not_known(machine: Machine, cleared_first: bool) -> None:
    """Whichever of the two arrivals is looked at first."""
    found = entered(machine, cleared_first)
    assert found.loop is not None
    assert len([path for path in found.entry.paths if path.end == "cut"]) == 2
    for segment in found.exits:
        stored = segment.accesses[-1].value
        assert stored.op == "extract" and stored.args[0].name.startswith("loop_")
    for obligation in found.induction:
        assert valid(obligation.assumptions, obligation.formula).answer is Answer.UNSAT
