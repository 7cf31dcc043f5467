"""A counter in memory whose high word changes only behind a branch."""

from __future__ import annotations

import pytest

from tests.prove.test_segments import WORD, body, segments
from tests.witness.programs import MACHINES
from verify.decide import Answer, valid
from verify.lift.angr_import import import_angr

import_angr()

from verify.prove.invariants import Invariant  # noqa: E402
from verify.prove.segments import Segments  # noqa: E402

MACHINE = MACHINES["loongarch64"]
"""Its words are sign-extended, so that one that wraps is zero as a whole."""


def counting(step: int, straight: bool) -> Segments:
    """A loop that adds to the low word, and to the high word if the low one is zero then. Paths are
    followed straight on first, which is with the carry or without."""
    low = [
        MACHINE.load("free", "counter", 0),
        MACHINE.add("free", "free", 1),
        MACHINE.store("free", "counter", 0),
    ]
    high = [
        MACHINE.load("other", "counter", 4),
        MACHINE.add("other", "other", step),
        MACHINE.store("other", "counter", 4),
    ]
    if straight:
        skip = [*MACHINE.branch_if_not_zero("free", WORD * (len(high) + 1))]
    else:
        skip = [
            *MACHINE.branch_if_not_zero("free", 2 * WORD),
            MACHINE.branch(2 * WORD),
            MACHINE.branch(WORD * (len(high) + 1)),
        ]
    *loop, _, back = body(MACHINE)
    inside = [*loop, *low, *skip, *high]
    again = MACHINE.branch_if_not_zero("nblocks", -WORD * len(inside))
    return segments(MACHINE, MACHINE.zero("free"), *inside, again, back)


def invariants(found: Segments) -> dict[int, Invariant]:
    assert found.loop is not None
    for obligation in found.induction:
        assert valid(obligation.assumptions, obligation.formula).answer is Answer.UNSAT
    return {
        one.location.offset: one for one in found.loop.invariants if one.location.space == "counter"
    }


@pytest.mark.parametrize("straight", [False, True])
def test_both_words_are_the_counters(straight: bool) -> None:
    found = invariants(counting(1, straight))
    count = {one.value.args[0].name for one in found.values()}
    assert {offset: one.kind for offset, one in found.items()} == {0: "counter", 4: "counter"}
    assert count == {"block_count"}


@pytest.mark.parametrize("straight", [False, True])
def test_a_wrong_carry_is_not_believed(straight: bool) -> None:
    found = invariants(counting(2, straight))
    assert {offset: one.kind for offset, one in found.items()} == {0: "counter", 4: "unknown"}
