"""Upper bounds are never exceeded, and what follows from them changes no value."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.terms.recipes import Both, assignments, expressions
from verify.terms import (
    FALSE,
    Term,
    add,
    binary,
    const,
    evaluate,
    extract,
    postorder,
    upper_bounds,
    var,
    variables,
    with_known_bounds,
    zero_extend,
)


@given(expressions(), st.data())
def test_no_value_exceeds_its_bound(both: Both, data: st.DataObject) -> None:
    assignment = data.draw(assignments(variables([both.term])))
    values = evaluate(list(postorder([both.term])), assignment)
    for term, most in upper_bounds([both.term]).items():
        assert values[term] <= most


@given(expressions(), st.data())
def test_the_value_stays_the_same(both: Both, data: st.DataObject) -> None:
    assignment = data.draw(assignments(variables([both.term])))
    simpler = with_known_bounds(both.term)
    known = {term: value for term, value in assignment.items() if term in variables([simpler])}
    assert evaluate([simpler], known)[simpler] == evaluate([both.term], assignment)[both.term]


def words(count: int) -> list[Term]:
    return [zero_extend(var(f"w{n}", 32), 32) for n in range(count)]


def total(terms: list[Term]) -> Term:
    whole = terms[0]
    for term in terms[1:]:
        whole = add(whole, term)
    return whole


def test_the_carry_of_a_sum_of_words_is_known() -> None:
    whole = total(words(100))
    assert with_known_bounds(extract(whole, 63, 40)) == const(0, 24)
    assert with_known_bounds(binary("bvult", whole, words(3)[2])) is FALSE
    assert with_known_bounds(binary("bvult", whole, total(words(99)))) is FALSE


def test_the_carry_of_a_sum_that_may_wrap_is_not() -> None:
    a, b = var("a", 64), var("b", 64)
    carry = binary("bvult", add(a, b), a)
    assert with_known_bounds(carry) is carry
    less = binary("bvult", total(words(3)), var("c", 64))
    assert with_known_bounds(less) is less
