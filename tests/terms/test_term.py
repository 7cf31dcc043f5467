"""The term graph: interning, what constructors remove and refuse, traversal, substitution."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.terms.recipes import Both, assignments, expressions
from verify.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    concat,
    conjunction,
    const,
    disjunction,
    equal,
    evaluate,
    extract,
    iff_else,
    negate,
    postorder,
    reverse_bytes,
    rotate_left,
    sign_extend,
    substitute,
    subtract,
    var,
    variables,
    zero_extend,
)
from verify.terms.term import binary, rebuild, signed

X, Y = var("x", 32), var("y", 32)
P, Q = var("p", 0), var("q", 0)
DEEP = 20_000


def test_equal_terms_are_one_object() -> None:
    assert add(X, const(1, 32)) is add(var("x", 32), const(1 + (1 << 32), 32))
    assert var("x", 32) is not var("x", 31)
    assert extract(X, 7, 0) is not extract(X, 8, 1)


@pytest.mark.parametrize(
    ("made", "simple"),
    [
        (extract(X, 31, 0), X),
        (extract(extract(X, 23, 8), 7, 4), extract(X, 15, 12)),
        (extract(concat(X, Y), 47, 32), extract(X, 15, 0)),
        (extract(concat(X, Y), 31, 16), extract(Y, 31, 16)),
        (extract(zero_extend(X, 32), 15, 8), extract(X, 15, 8)),
        (extract(sign_extend(X, 32), 31, 0), X),
        (concat(extract(X, 31, 9), extract(X, 8, 0)), X),
        (concat(concat(X, Y), X), concat(X, concat(Y, X))),
        (concat(const(1, 8), const(2, 8)), const(0x102, 16)),
        (reverse_bytes(reverse_bytes(X)), X),
        (reverse_bytes(const(0x01020304, 32)), const(0x04030201, 32)),
        (rotate_left(X, 0), X),
        (rotate_left(X, 64), X),
        (rotate_left(X, -8), rotate_left(X, 24)),
        (rotate_left(const(0x8000_0001, 32), 1), const(3, 32)),
        (zero_extend(X, 0), X),
        (sign_extend(X, 0), X),
        (sign_extend(const(0x80, 8), 8), const(0xFF80, 16)),
        (iff_else(P, X, X), X),
        (iff_else(TRUE, X, Y), X),
        (iff_else(FALSE, X, Y), Y),
        (negate(negate(P)), P),
        (negate(TRUE), FALSE),
        (equal(X, X), TRUE),
        (conjunction([]), TRUE),
        (disjunction([]), FALSE),
        (conjunction([P, TRUE, P]), P),
        (conjunction([P, FALSE, Q]), FALSE),
        (disjunction([P, FALSE, P]), P),
        (disjunction([P, TRUE, Q]), TRUE),
        (subtract(const(0, 8), const(1, 8)), const(255, 8)),
    ],
    ids=repr,
)
def test_nothing_that_does_nothing_is_kept(made: Term, simple: Term) -> None:
    assert made is simple


A, B, C = (var(name, width) for name, width in (("a", 5), ("b", 4), ("c", 3)))


@pytest.mark.parametrize(
    "whole",
    [
        concat(A, B, C),
        concat(zero_extend(C, 6), C),
        zero_extend(concat(A, B), 3),
        sign_extend(A, 7),
        extract(concat(A, var("d", 40), C), 44, 33),
        extract(var("d", 40), 39, 28),
        concat(extract(A, 4, 2), extract(B, 1, 0), extract(A, 1, 0), A),
        concat(extract(A, 4, 2), extract(A, 1, 0), B, extract(C, 2, 1), extract(C, 1, 1)),
    ],
    ids=repr,
)
def test_every_slice_of_what_is_put_together(whole: Term) -> None:
    generator = random.Random(repr(whole))
    for _ in range(8):
        values = {v: generator.getrandbits(v.width) for v in sorted(variables([whole]), key=repr)}
        value = evaluate([whole], values)[whole]
        for high in range(whole.width):
            for low in range(high + 1):
                part = extract(whole, high, low)
                assert part.width == high - low + 1
                expected = (value >> low) & (1 << part.width) - 1
                assert evaluate([part], values)[part] == expected


def test_parts_of_different_wholes_stay_apart() -> None:
    mixed = concat(extract(X, 31, 16), extract(Y, 15, 0))
    assert evaluate([mixed], {X: 0x1111_2222, Y: 0x3333_4444})[mixed] == 0x1111_4444


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: add(X, var("z", 16)), "bvadd: widths 32 and 16 differ"),
        (lambda: equal(X, P), "=: widths 32 and 0 differ"),
        (lambda: binary("bvnand", X, Y), "unknown operator bvnand"),
        (lambda: extract(X, 32, 0), "extract 32..0 of 32 bits"),
        (lambda: extract(X, 3, 4), "extract 3..4 of 32 bits"),
        (lambda: extract(X, 3, -1), "extract 3..-1 of 32 bits"),
        (lambda: add(X, Y).name, "not a variable"),
        (lambda: X.bounds, "not an extract"),
        (lambda: extract(X, 3, 0).amount, "no amount"),
        (lambda: const(3, 8).amount, "no amount"),
    ],
)
def test_what_is_wrong_is_refused(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong()


def test_text() -> None:
    assert repr(add(X, const(16, 32))) == "(bvadd x 0x10:32)"
    assert repr(conjunction([P, negate(Q)])) == "(and p (not q))"
    assert TRUE.text(0) == "true"
    assert extract(add(X, Y), 7, 0).text(1) == "(extract(7, 0) ...)"
    assert rotate_left(X, 7).text(2) == "(rotate_left7 x)"


@pytest.mark.parametrize(
    ("value", "width", "meant"), [(0x80, 8, -128), (0x7F, 8, 127), (1, 1, -1), (0, 1, 0)]
)
def test_signed(value: int, width: int, meant: int) -> None:
    assert signed(value, width) == meant


@given(expressions())
def test_each_term_once_and_behind_its_arguments(both: Both) -> None:
    order = list(postorder([both.term, both.term]))
    place = {term: number for number, term in enumerate(order)}
    assert len(place) == len(order)
    assert order[-1] is both.term
    assert all(place[arg] < place[term] for term in order for arg in term.args)
    assert variables([both.term]) == {term for term in order if term.op == "var"}


@given(expressions())
def test_rebuilding_from_the_same_arguments_changes_nothing(both: Both) -> None:
    for term in postorder([both.term]):
        assert not term.args or rebuild(term, term.args) is term


@given(expressions(), st.data())
def test_substituting_is_evaluating_in_another_place(both: Both, data: st.DataObject) -> None:
    values = data.draw(assignments(variables([both.term])))
    chosen = {v: const(value, v.width) for v, value in values.items() if data.draw(st.booleans())}
    (replaced,) = substitute([both.term], chosen)
    assert not variables([replaced]) & set(chosen)
    assert evaluate([replaced], values)[replaced] == evaluate([both.term], values)[both.term]


def test_what_is_put_in_is_not_searched_again() -> None:
    assert substitute([add(X, Y)], {X: Y, Y: X}) == [add(Y, X)]
    assert substitute([add(add(X, Y), X)], {add(X, Y): X}) == [add(X, X)]
    unchanged = add(X, Y)
    assert substitute([unchanged], {var("z", 32): X})[0] is unchanged


def deep() -> Term:
    """x + 1 + 1 ..., so deep that whatever recurses fails."""
    one = const(1, 32)
    term = binary("bvxor", X, Y)
    for number in range(DEEP):
        term = add(term, one) if number % 2 else rotate_left(term, 1)
    return term


def test_depth_is_no_matter() -> None:
    term = deep()
    assert sum(1 for _ in postorder([term])) == DEEP + 4
    value = 0x1234_5678 ^ 0xFFFF_0000
    for number in range(DEEP):
        turned = (value << 1 | value >> 31) & 0xFFFF_FFFF
        value = (value + 1) & 0xFFFF_FFFF if number % 2 else turned
    assert evaluate([term], {X: 0x1234_5678, Y: 0xFFFF_0000})[term] == value
    (replaced,) = substitute([term], {Y: const(0xFFFF_0000, 32)})
    assert variables([replaced]) == {X}
    assert evaluate([replaced], {X: 0x1234_5678})[replaced] == value
    assert len(repr(term)) < 200
