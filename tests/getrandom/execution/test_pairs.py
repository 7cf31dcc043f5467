"""Pairs of calls differ in secrets only, and those that are to give out the same do."""

from __future__ import annotations

import pytest

from specs.opaque_state import GENERATION_OFFSET, decode
from tests.history.programs import EACH_ONCE, program
from verify.getrandom.execution.pairs import (
    BLOCKS,
    FEW_BYTES,
    LONGER,
    QUIET,
    Pair,
    any_secrets,
    colliding,
    ones,
    quiet,
    some,
    unequal,
)
from verify.history import Program, specified
from verify.history.catalogue import is_granted

EACH = pytest.mark.parametrize("name", [EACH_ONCE[0], *EACH_ONCE[2:4]])


def every(one: Program) -> list[Pair]:
    mets = (*QUIET, *LONGER, *FEW_BYTES)
    return [*quiet(one), *unequal(one), *any_secrets(one, mets, (ones, some(0)))]


@EACH
def test_nothing_but_secrets_differs(name: str) -> None:
    one = program(name)
    for first, second in (pair.steps for pair in every(one)):
        assert is_granted((first, second))
        assert first.call == second.call
        assert (first.generation, first.is_ready) == (second.generation, second.is_ready)
        for step in (first, second):
            assert step.state is not None
            state = decode(step.state, one.port.byte_order)
            assert not any(state.batch[: state.pos])
        assert first.state is not None
        assert second.state is not None
        assert first.state[GENERATION_OFFSET:] == second.state[GENERATION_OFFSET:]
        for given, other in zip(first.answers, second.answers, strict=True):
            assert (given.result, given.generation) == (other.result, other.generation)


@EACH
def test_what_is_given_out_is_the_same(name: str) -> None:
    one = program(name)
    pairs = list(quiet(one))
    assert len(pairs) == len(QUIET)
    for pair in pairs:
        (ours,), (theirs,) = (tuple(specified(one, (step,))) for step in pair.steps)
        assert (ours.result, ours.buffer) == (theirs.result, theirs.buffer)
        assert [made.call for made in ours.made] == [made.call for made in theirs.made]
        assert ours.state != theirs.state
        assert pair.steps[0] != pair.steps[1]
        assert pair.seeds[0] == pair.seeds[1]


@EACH
def test_every_kind_of_end_is_met(name: str) -> None:
    """With and without a system call, for a key and for a fallback, and up to three."""
    one = program(name)
    made = {len(done.made) for pair in quiet(one) for done in specified(one, pair.steps[:1])}
    assert made == {0, 1, 2, 3}
    for pair in unequal(one):
        (done,) = specified(one, pair.steps[:1])
        assert done.result == pair.steps[0].call.len
    assert len(list(unequal(one))) == len(BLOCKS)


@pytest.mark.parametrize("block", [0, 2])
def test_keys_collide_in_one_byte(block: int) -> None:
    for order in ("little", "big"):
        first, second = colliding(order, block)
        assert first != second
