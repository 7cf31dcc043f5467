"""Bits that the checker of certificates takes for zero are zero."""

from __future__ import annotations

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.evidence.check_terms import Node, apply, concat, extract, number, same, script, variable
from verify.evidence.check_zeros import are_zero

X, Y = variable("x", 64), variable("y", 64)
A = variable("a", 32)
WIDE = apply("(_ zero_extend 32)", A)
LOWER = apply("bvand", X, number(2**32 - 1, 64))


@pytest.mark.parametrize(
    ("node", "high", "low", "zero"),
    [
        (X, 63, 32, False),
        (number(1 << 32, 64), 31, 0, True),
        (number(1 << 32, 64), 32, 0, False),
        (WIDE, 63, 32, True),
        (WIDE, 63, 31, False),
        (LOWER, 63, 32, True),
        (LOWER, 32, 31, False),
        (apply("bvshl", X, number(32, 64)), 31, 0, True),
        (apply("bvshl", X, number(32, 64)), 32, 0, False),
        (apply("bvshl", LOWER, number(16, 64)), 63, 48, True),
        (apply("bvshl", X, Y), 0, 0, False),
        (apply("bvlshr", X, number(40, 64)), 63, 24, True),
        (apply("bvlshr", X, number(40, 64)), 63, 23, False),
        (apply("bvor", WIDE, LOWER), 63, 32, True),
        (apply("bvor", WIDE, X), 63, 32, False),
        (concat([number(0, 32), A]), 63, 32, True),
        (concat([number(0, 32), A]), 32, 31, False),
        (extract(WIDE, 47, 32), 15, 0, True),
        (apply("bvadd", WIDE, WIDE), 63, 33, False),
    ],
)
def test_known(node: Node, high: int, low: int, zero: bool) -> None:
    assert are_zero(node, high, low) is zero


def nodes(depth: int = 3) -> st.SearchStrategy[Node]:
    """Values of 64 bits."""
    leaves = st.sampled_from([X, Y, WIDE]) | st.integers(0, 2**64 - 1).map(lambda n: number(n, 64))
    if not depth:
        return leaves
    below = nodes(depth - 1)
    amounts = st.integers(0, 70).map(lambda n: number(n, 64))
    return st.one_of(
        leaves,
        st.builds(apply, st.sampled_from(["bvand", "bvor", "bvadd"]), below, below),
        st.builds(apply, st.sampled_from(["bvshl", "bvlshr"]), below, amounts),
        st.builds(lambda a, b: concat([extract(a, 63, 40), extract(b, 39, 0)]), below, below),
        below.map(lambda a: apply("(_ zero_extend 32)", extract(a, 47, 16))),
    )


@given(nodes(), st.integers(0, 63), st.integers(0, 63))
@settings(max_examples=300)
def test_zero_for_every_assignment(node: Node, one: int, other: int) -> None:
    high, low = max(one, other), min(one, other)
    if are_zero(node, high, low):
        solver = z3.Solver()
        bits = extract(node, high, low)
        solver.from_string(script([apply("not", same(bits, number(0, bits.width)))]))
        assert solver.check() == z3.unsat
