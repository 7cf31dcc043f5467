"""Answers are right, whatever was asked before, and what is known is not asked again."""

from __future__ import annotations

import itertools
import random

import pytest

from verify.getrandom.reasoning.questions import Facts, Questions
from verify.terms import Term, add, const, equal, evaluate, negate, unsigned_less, var, variables

WIDTH = 2
FRESH = tuple(var(f"x@{n}", WIDTH) for n in range(6))
FIXED = tuple(var(name, WIDTH) for name in "pq")
SOME = (FIXED[0], *FRESH[:3])


def every(terms: Facts) -> list[dict[Term, int]]:
    """What the terms are for each assignment of their variables."""
    free = sorted(variables(terms), key=lambda one: one.name)
    values = itertools.product(range(2**WIDTH), repeat=len(free))
    return [evaluate(terms, dict(zip(free, one, strict=True))) for one in values]


def relation(values: random.Random) -> Term:
    """A comparison of sums of two variables."""
    sums = [add(values.choice(SOME), values.choice((const(1, WIDTH), *SOME))) for _ in range(2)]
    found = values.choice((equal, unsigned_less))(*sums)
    return negate(found) if found.value is None and values.random() < 0.5 else found


@pytest.mark.parametrize("seed", range(8))
def test_right(seed: int) -> None:
    values = random.Random(seed)
    questions = Questions()
    for _ in range(4):
        facts: Facts = ()
        for _ in range(4):
            new = relation(values)
            if new.value is None:
                possible = any(
                    all(each[one] for one in (*facts, new)) for each in every((*facts, new))
                )
                assert questions.possible((*facts, new), facts) == possible
                if possible:
                    facts = (*facts, new)
            claim = relation(values)
            if claim in facts or negate(claim) in facts:
                continue
            true = all(
                each[claim] for each in every((*facts, claim)) if all(each[one] for one in facts)
            )
            assert questions.follows(facts, claim) == true, (facts, claim)


def test_what_is_known_is_not_asked_again() -> None:
    questions = Questions()
    p, q = FIXED
    facts = (unsigned_less(p, FRESH[0]), unsigned_less(FRESH[0], q))
    claim = unsigned_less(p, q)
    for _ in range(2):
        assert questions.follows(facts, claim)
        assert questions.asked == 1
    more = (equal(FRESH[1], FRESH[2]), *facts)
    assert questions.follows(more, claim)
    assert questions.asked == 1
    renamed = (unsigned_less(p, FRESH[4]), unsigned_less(FRESH[4], q))
    assert questions.follows(renamed, claim)
    assert questions.asked == 1
    assert not questions.follows(facts, unsigned_less(q, p))
    asked = questions.asked
    assert not questions.follows(facts, equal(p, q))
    assert questions.possible(facts)
    assert questions.asked == asked


def test_other_facts_are_another_question() -> None:
    """Names that are not numbered are told apart, and so are variables of one name's kind."""
    questions = Questions()
    p, q = FIXED
    first, second, third = FRESH[:3]
    assert questions.follows((unsigned_less(first, p),), negate(equal(first, p)))
    assert not questions.follows((unsigned_less(first, q),), negate(equal(first, p)))
    chain = (unsigned_less(first, second), unsigned_less(second, third))
    assert questions.follows(chain, unsigned_less(first, third))
    broken = (unsigned_less(first, second), unsigned_less(FRESH[3], third))
    assert not questions.follows(broken, unsigned_less(first, third))
    p_less, less_q = unsigned_less(p, first), unsigned_less(first, q)
    assert questions.follows((p_less, less_q), unsigned_less(p, q))
    assert not questions.follows((p_less, unsigned_less(q, first)), unsigned_less(p, q))
    assert not questions.follows((less_q, p_less), unsigned_less(q, p))
