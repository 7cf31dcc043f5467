"""Compiled terms have the values that they have when they are evaluated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.terms.recipes import Both, assignments, expressions, values
from verify.terms import const, evaluate, var, variables
from verify.terms.term import BINARY, COMPARE, binary
from verify.validate.compiled import compiled


@given(st.lists(expressions(), min_size=1, max_size=3), st.data())
def test_values(several: list[Both], data: st.DataObject) -> None:
    terms = [both.term for both in several]
    assignment = data.draw(assignments(variables(terms)))
    expected = evaluate(terms, assignment)
    assert compiled(terms)(assignment) == tuple(expected[term] for term in terms)


@pytest.mark.parametrize("op", [*BINARY, *COMPARE])
@given(st.data())
def test_every_operator_on_a_variable_and_a_constant(op: str, data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 130))
    a, b = data.draw(values(width)), data.draw(values(width) | st.integers(0, min(width, 2)))
    x = var("x", width)
    term = binary(op, x, const(b, width))
    assert compiled([term])({x: a}) == (evaluate([term], {x: a})[term],)


def test_a_variable_without_a_value() -> None:
    with pytest.raises(KeyError):
        compiled([var("x", 8)])({})
    assert compiled([])({}) == ()
