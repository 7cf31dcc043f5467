"""What is not among the dependences of a value changes nothing of it, and what is may."""

from __future__ import annotations

import random

import pytest

from tests.getrandom.reasoning.test_simplify import WIDTH, some_term
from verify.getrandom.reasoning.dependence import dependences
from verify.terms import (
    Term,
    add,
    binary,
    concat,
    const,
    evaluate,
    extract,
    sign_extend,
    var,
    variables,
    zero_extend,
)

BYTE, SECRET, WORD = var("byte", 8), var("secret", 24), var("word", 32)
INSERTED = concat(SECRET, BYTE)


@pytest.mark.parametrize("seed", range(100))
def test_nothing_else_counts(seed: int) -> None:
    values = random.Random(seed)
    term = some_term(values, 5)
    free = variables([term])
    others = free - dependences([term])
    for _ in range(8):
        given = {one: values.getrandbits(one.width) for one in free}
        changed = given | {one: values.getrandbits(one.width) for one in others}
        assert evaluate([term], given)[term] == evaluate([term], changed)[term]


@pytest.mark.parametrize("op", ["bvadd", "bvsub", "bvmul", "bvand", "bvor", "bvxor"])
def test_last_bits_follow_from_last_bits(op: str) -> None:
    computed = binary(op, INSERTED, WORD)
    assert dependences([extract(computed, 7, 0)]) == {BYTE, WORD}
    assert dependences([zero_extend(extract(computed, 3, 1), 8)]) == {BYTE, WORD}


@pytest.mark.parametrize(
    "value",
    [
        extract(add(INSERTED, WORD), 8, 0),
        extract(add(INSERTED, WORD), 8, 8),
        extract(add(WORD, concat(extract(SECRET, 23, 0), BYTE)), 15, 8),
        extract(binary("bvlshr", add(INSERTED, WORD), const(1, 32)), 7, 0),
        extract(binary("bvudiv", INSERTED, WORD), 7, 0),
        extract(binary("bvashr", INSERTED, WORD), 7, 0),
        extract(binary("bvshl", WORD, INSERTED), 7, 0),
        extract(add(sign_extend(extract(SECRET, 3, 0), 28), WORD), 0, 0),
        zero_extend(extract(add(INSERTED, WORD), 31, 31), 7),
    ],
)
def test_what_comes_through_counts(value: Term) -> None:
    assert SECRET in dependences([value])


def test_width_of_terms_of_tests() -> None:
    assert some_term(random.Random(0), 2).width == WIDTH
