"""Several comparisons of two terms are one comparison that is equal to them."""

from __future__ import annotations

import random

import pytest

from verify.getrandom.reasoning.comparisons import one_comparison
from verify.terms import (
    FALSE,
    TRUE,
    Term,
    binary,
    conjunction,
    const,
    disjunction,
    equal,
    evaluate,
    negate,
    subtract,
    unsigned_less,
    unsigned_less_equal,
    var,
)

WIDTH = 4
A, B = var("a", WIDTH), var("b", WIDTH)
VALUES = [{A: a, B: b} for a in range(2**WIDTH) for b in range(2**WIDTH)]


def _holds(term: Term, given: dict[Term, int]) -> int:
    return evaluate([term], given)[term]


def _boolean(values: random.Random, depth: int) -> Term:
    kind = values.randrange(4) if depth else 3
    if kind == 0:
        return negate(_boolean(values, depth - 1))
    if kind < 3:
        parts = [_boolean(values, depth - 1) for _ in range(2)]
        return conjunction(parts) if kind == 1 else disjunction(parts)
    one, other = values.sample((A, B), 2)
    op = values.choice(("=", "bvult", "bvule", "bvslt", "bvsle"))
    return binary(op, one, other if values.random() < 0.9 else const(5, WIDTH))


@pytest.mark.parametrize("seed", range(100))
def test_equal(seed: int) -> None:
    term = _boolean(random.Random(seed), 3)
    simple = one_comparison(term)
    assert all(_holds(term, given) == _holds(simple, given) for given in VALUES)


SAME = equal(subtract(A, B), const(0, WIDTH))
LESS, AT_MOST = unsigned_less(A, B), unsigned_less_equal(A, B)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (disjunction((SAME, LESS)), AT_MOST),
        (conjunction((negate(SAME), AT_MOST)), LESS),
        (conjunction((negate(SAME), negate(LESS))), negate(AT_MOST)),
        (disjunction((LESS, unsigned_less(B, A))), negate(equal(B, A))),
        (conjunction((LESS, unsigned_less(B, A))), FALSE),
        (disjunction((AT_MOST, unsigned_less(B, A))), TRUE),
    ],
)
def test_one_comparison(term: Term, expected: Term) -> None:
    assert one_comparison(term) is expected


@pytest.mark.parametrize(
    "term",
    [LESS, SAME, conjunction((LESS, binary("bvslt", A, B))), disjunction((SAME, var("p", 0)))],
)
def test_others_stay(term: Term) -> None:
    assert one_comparison(term) is term
