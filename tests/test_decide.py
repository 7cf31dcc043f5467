"""The one door to the solver: its answers are true, and bounded."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.terms.recipes import Both, assignments, booleans
from verify.decide import ALL_SPENT, DEFAULT_BUDGET, Answer, check, exhausted, start_afresh, valid
from verify.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    conjunction,
    const,
    equal,
    evaluate,
    negate,
    rotate_left,
    unsigned_less,
    var,
    variables,
    zero_extend,
)
from verify.terms.term import binary

X, Y, Z = (var(name, 32) for name in ("x", "y", "z"))
P = var("p", 0)


def times(a: Term, b: Term) -> Term:
    return binary("bvmul", a, b)


# The product of the two largest primes of 31 bits: finding them takes a solver minutes.
PRODUCT = const(2147483647 * 2147483629, 64)
HARD = negate(equal(times(zero_extend(X, 32), zero_extend(Y, 32)), PRODUCT))


@given(booleans(4), st.data())
def test_answers_are_true(both: Both, data: st.DataObject) -> None:
    decision = check([both.term], 100_000)
    if decision.answer is Answer.SAT:
        assert evaluate([both.term], decision.model, default=0)[both.term] == 1
    elif decision.answer is Answer.UNSAT:
        values = data.draw(assignments(variables([both.term])))
        assert evaluate([both.term], values)[both.term] == 0


@pytest.mark.parametrize(
    ("assertions", "answer"),
    [
        ([], Answer.SAT),
        ([TRUE], Answer.SAT),
        ([TRUE, FALSE], Answer.UNSAT),
        ([P, negate(P)], Answer.UNSAT),
        ([unsigned_less(X, Y), unsigned_less(Y, X)], Answer.UNSAT),
        ([unsigned_less(X, Y), unsigned_less(Y, Z)], Answer.SAT),
        ([equal(X, const(0xDEADBEEF, 32)), P], Answer.SAT),
        ([equal(add(X, Y), X), negate(equal(Y, const(0, 32)))], Answer.UNSAT),
    ],
    ids=repr,
)
def test_answer(assertions: list[Term], answer: Answer) -> None:
    decision = check(assertions)
    assert decision.answer is answer
    assert decision.reason == ""
    if answer is Answer.SAT:
        free = variables(assertions)
        assert set(decision.model) == free
        whole = conjunction(assertions)
        assert evaluate([whole], decision.model)[whole] == 1
    else:
        assert decision.model == {}


def test_valid_is_the_negation_of_a_counterexample() -> None:
    assumptions = (unsigned_less(X, Y),)
    assert valid(assumptions, negate(equal(X, Y))).answer is Answer.UNSAT
    wrong = unsigned_less(add(X, const(1, 32)), Y)
    decision = valid(assumptions, wrong)
    assert decision.answer is Answer.SAT
    assert evaluate([*assumptions, wrong], decision.model)[assumptions[0]] == 1
    assert evaluate([wrong], decision.model)[wrong] == 0
    assert valid((), TRUE).answer is Answer.UNSAT
    assert valid((), FALSE).answer is Answer.SAT
    assert valid((FALSE,), FALSE).answer is Answer.UNSAT


def test_out_of_budget_is_unknown_and_says_so() -> None:
    decision = valid((), HARD, budget=20_000)
    assert decision.answer is Answer.UNKNOWN
    assert "resource" in decision.reason or "canceled" in decision.reason
    assert decision.model == {}


def test_out_of_time_is_unknown_and_says_so() -> None:
    start = time.perf_counter()
    decision = valid((), HARD, budget=4_000_000_000, timeout=0.2)
    assert decision.answer is Answer.UNKNOWN
    assert "timeout" in decision.reason or "canceled" in decision.reason
    assert time.perf_counter() - start < 10


def test_the_budget_does_not_depend_on_the_machine() -> None:
    answers = {valid((), HARD, budget=20_000) == valid((), HARD, budget=20_000) for _ in range(3)}
    assert answers == {True}
    assert DEFAULT_BUDGET >= 1_000_000


def deep(rounds: int, last: Term) -> Term:
    a, b = X, Y
    for _ in range(rounds):
        a = add(times(a, b), rotate_left(b, 7))
        b = binary("bvxor", rotate_left(a, 12), b)
    return add(a, last)


def test_a_wrong_claim_about_deep_terms_is_seen_without_a_solver() -> None:
    """With a budget for nothing: that two deep terms differ shows on random values."""
    wrong = equal(deep(300, Z), deep(300, add(Z, const(1, 32))))
    assert valid((), wrong, budget=1).answer is Answer.SAT
    elsewhere = equal(var("w", 32), const(7, 32))
    facts = (equal(Z, const(5, 32)), unsigned_less(X, Z), elsewhere)
    decision = valid(facts, wrong, budget=100_000)
    assert decision.answer is Answer.SAT
    assert all(evaluate([fact], decision.model)[fact] for fact in facts)
    assert evaluate([wrong], decision.model)[wrong] == 0


def test_sampling_says_nothing_of_what_is_true() -> None:
    claim = equal(deep(300, Z), deep(300, Z))
    assert claim is TRUE
    shifted = equal(add(deep(200, Z), const(0, 32)), deep(200, Z))
    assert valid((), shifted).answer is Answer.UNSAT


def test_all_queries_together_have_a_budget() -> None:
    """Once they have taken it, there are no more answers."""
    easy = conjunction([equal(add(X, Y), const(15, 32)), unsigned_less(X, Y)])
    start_afresh(100_000)
    assert check([easy]).answer is Answer.SAT
    assert not exhausted()
    assert check([negate(HARD)], 10 * DEFAULT_BUDGET).answer is Answer.UNKNOWN
    assert exhausted()
    assert check([easy]).reason == ALL_SPENT
    start_afresh()
    assert check([easy]).answer is Answer.SAT
