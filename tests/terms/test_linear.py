"""Linear forms are exact, and find the form of addresses and counters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.terms.recipes import Both, assignments, bit_vectors
from verify.terms import (
    Linear,
    Term,
    add,
    const,
    evaluate,
    linear,
    sign_extend,
    subtract,
    var,
    variables,
    zero_extend,
)
from verify.terms.term import binary

SP, DST, INDEX, NBLOCKS = (var(name, 64) for name in ("sp", "dst", "index", "nblocks"))


def number(value: int) -> Term:
    return const(value, 64)


def times(term: Term, value: int) -> Term:
    return binary("bvmul", term, number(value))


@given(st.sampled_from([8, 32, 64]).flatmap(lambda width: bit_vectors(width, 4)), st.data())
def test_exact(both: Both, data: st.DataObject) -> None:
    form = linear(both.term)
    back = form.term()
    assert set(form.coefficients) <= {*variables([both.term]), *form.coefficients}
    values = data.draw(assignments(variables([both.term, back])))
    assert evaluate([back], values)[back] == evaluate([both.term], values)[both.term]


@given(st.lists(st.tuples(st.sampled_from(["+", "-", "*", "<<"]), st.integers(0, 70)), max_size=8))
def test_every_sum_of_multiples_is_found(steps: list[tuple[str, int]]) -> None:
    term, constant, factor = add(SP, number(5)), 5, 1
    for op, value in steps:
        match op:
            case "+":
                term, constant = add(number(value), term), constant + value
            case "-":
                term, constant = subtract(term, number(value)), constant - value
            case "*":
                term = binary("bvmul", number(value), term)
                constant, factor = constant * value, factor * value
            case _:
                term = binary("bvshl", term, number(value))
                constant, factor = constant << value, factor << value
    form = linear(term)
    assert form.constant % 2**64 == constant % 2**64
    assert {a: k % 2**64 for a, k in form.coefficients.items()} == (
        {SP: factor % 2**64} if factor % 2**64 else {}
    )


@pytest.mark.parametrize(
    ("term", "constant", "coefficients"),
    [
        (number(2**64 - 1), -1, {}),
        (subtract(add(SP, number(8)), SP), 8, {}),
        (subtract(SP, number(216)), -216, {SP: 1}),
        (subtract(DST, SP), 0, {DST: 1, SP: -1}),
        (add(DST, times(INDEX, 64)), 0, {DST: 1, INDEX: 64}),
        (subtract(times(INDEX, 64), times(INDEX, 64)), 0, {}),
        (binary("bvmul", DST, SP), 0, {binary("bvmul", DST, SP): 1}),
        (binary("bvshl", DST, number(63)), 0, {DST: -(2**63)}),
        (binary("bvshl", DST, number(64)), 0, {}),
        (binary("bvshl", DST, number(2**64 - 1)), 0, {}),
        (binary("bvshl", DST, SP), 0, {binary("bvshl", DST, SP): 1}),
        (
            zero_extend(add(var("w", 32), const(1, 32)), 32),
            0,
            {zero_extend(add(var("w", 32), const(1, 32)), 32): 1},
        ),
        (sign_extend(var("w", 32), 32), 0, {sign_extend(var("w", 32), 32): 1}),
    ],
    ids=repr,
)
def test_form(term: Term, constant: int, coefficients: dict[Term, int]) -> None:
    form = linear(term)
    assert (form.constant, dict(form.coefficients)) == (constant, coefficients)
    assert form.is_constant == (not coefficients)


def test_arithmetic() -> None:
    a, b = linear(add(DST, number(4))), linear(add(times(INDEX, 64), SP))
    both = a.plus(b, -2)
    assert both == linear(subtract(subtract(add(DST, number(4)), times(INDEX, 128)), times(SP, 2)))
    assert both.without(SP) == linear(subtract(add(DST, number(4)), times(INDEX, 128)))
    assert both.without(NBLOCKS) == both
    assert a.plus(a, -1) == Linear(64, 0)
    assert hash(both) == hash(linear(both.term()))


def test_coefficients_are_signed_and_wrap() -> None:
    assert linear(times(SP, 2**63)).coefficients == {SP: -(2**63)}
    assert linear(add(times(SP, 2**63), times(SP, 2**63))).is_constant
