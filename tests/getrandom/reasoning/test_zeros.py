"""The bit that a count of leading zeros has for zero only is told as one choice."""

from __future__ import annotations

import pytest

from verify.getrandom.reasoning.simplify import Simplifier
from verify.getrandom.reasoning.zeros import zero_asked
from verify.terms import (
    Term,
    binary,
    concat,
    const,
    equal,
    evaluate,
    extract,
    iff_else,
    postorder,
    var,
    zero_extend,
)

BITS = 32
X = var("x", BITS)
VALUES = (0, 1, 5, 1 << 31, (1 << 32) - 1)


def count() -> Term:
    """The number of leading zeros, case by case."""
    found = const(BITS, BITS)
    for place in range(BITS):
        found = iff_else(
            equal(extract(X, place, place), const(1, 1)), const(BITS - 1 - place, BITS), found
        )
    return found


def shifted(term: Term, op: str, by: int) -> Term:
    """The term shifted by a constant."""
    return binary(op, term, const(by, term.width))


def masked(term: Term, bit: int) -> Term:
    """One bit of a term."""
    return binary("bvand", term, const(1 << bit, term.width))


ROTATED = binary("bvor", shifted(count(), "bvshl", 7), shifted(count(), "bvlshr", 25))
ASKED = (
    masked(count(), 5),
    masked(shifted(count(), "bvshl", 7), 12),
    masked(shifted(count(), "bvlshr", 5), 0),
    masked(ROTATED, 12),
    masked(zero_extend(ROTATED, 32), 12),
    masked(concat(ROTATED, const(0, 32)), 44),
    masked(extract(concat(ROTATED, ROTATED), 63, 32), 12),
)


@pytest.mark.parametrize("term", ASKED)
def test_one_choice(term: Term) -> None:
    simple = Simplifier()(term)
    assert len([part for part in postorder([simple]) if part.op == "ite"]) == 1
    for value in VALUES:
        assert evaluate([term], {X: value})[term] == evaluate([simple], {X: value})[simple]


@pytest.mark.parametrize(
    "term", [masked(shifted(count(), "bvshl", 7), 3), masked(zero_extend(ROTATED, 32), 40)]
)
def test_what_is_always_zero(term: Term) -> None:
    assert Simplifier()(term).value == 0


@pytest.mark.parametrize(
    "term",
    [
        masked(count(), 4),
        masked(binary("bvor", count(), X), 5),
        masked(X, 5),
        binary("bvand", count(), const(0x30, BITS)),
        masked(binary("bvadd", count(), X), 5),
        count(),
    ],
)
def test_everything_else_stays(term: Term) -> None:
    assert zero_asked(term) is None
