"""A simplified term is equal to what it was."""

from __future__ import annotations

import random

import pytest

from verify.getrandom.simplify import Simplifier
from verify.terms import (
    Term,
    binary,
    const,
    equal,
    evaluate,
    extract,
    iff_else,
    negate,
    postorder,
    unsigned_less,
    var,
    variables,
    zero_extend,
)
from verify.terms.term import COMPARE

WIDTH = 8


def _term(values: random.Random, depth: int) -> Term:
    kind = values.randrange(7) if depth else 6
    if kind < 3:
        op = values.choice(("bvadd", "bvsub", "bvmul", "bvand", "bvor", "bvxor"))
        return binary(op, _term(values, depth - 1), _term(values, depth - 1))
    if kind < 5:
        return iff_else(_condition(values, depth - 1), *(_term(values, depth - 1) for _ in "ab"))
    if kind == 5:
        return extract(zero_extend(_term(values, depth - 1), 8), WIDTH - 1, 0)
    number = values.choice((0, 0, 1, 1, 255, 96))
    return const(number, WIDTH) if values.random() < 0.5 else var(values.choice("xyz"), WIDTH)


def _condition(values: random.Random, depth: int) -> Term:
    kind = values.choice((equal, unsigned_less))
    term = kind(_term(values, max(depth, 0)), _term(values, max(depth, 0)))
    return negate(term) if values.random() < 0.5 else term


@pytest.mark.parametrize("seed", range(200))
def test_equal(seed: int) -> None:
    values = random.Random(seed)
    simplify = Simplifier()
    for term in (_term(values, 4), _condition(values, 4)):
        simple = simplify(term)
        assert simple.width == term.width
        for _ in range(20):
            given = {
                one: values.choice((0, 1, 96, 255, values.randrange(256)))
                for one in variables([term, simple])
            }
            assert evaluate([term], given)[term] == evaluate([simple], given)[simple]


@pytest.mark.parametrize("bit", range(4))
@pytest.mark.parametrize("op", ["bvult", "bvslt"])
def test_a_bit_of_a_condition_field_is_one_comparison(op: str, bit: int) -> None:
    x, y = var("x", WIDTH), var("y", WIDTH)
    less, larger, same = const(8, WIDTH), const(4, WIDTH), const(2, WIDTH)
    field = iff_else(equal(x, y), same, iff_else(binary(op, x, y), less, larger))
    taken = negate(equal(extract(field, bit, bit), const(0, 1)))
    simple = Simplifier()(taken)
    assert "ite" not in {part.op for part in postorder([simple])}
    assert len([part for part in postorder([simple]) if part.op in COMPARE]) <= 1
    for a, b in ((1, 2), (2, 1), (5, 5), (255, 1), (1, 255)):
        given = {x: a, y: b}
        assert evaluate([taken], given)[taken] == evaluate([simple], given)[simple]


def test_a_choice_by_multiplication_is_one() -> None:
    x, y = var("x", WIDTH), var("y", WIDTH)
    less = unsigned_less(x, y)
    one, zero = const(1, WIDTH), const(0, WIDTH)
    flag = iff_else(less, one, zero)
    both = binary("bvor", binary("bvmul", flag, x), binary("bvmul", iff_else(less, zero, one), y))
    assert Simplifier()(both) is iff_else(less, x, y)
