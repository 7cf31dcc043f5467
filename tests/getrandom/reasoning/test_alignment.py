"""What a pointer is rounded down to is told case by case, and is right in each."""

from __future__ import annotations

import pytest

from verify.getrandom.reasoning.simplify import Simplifier
from verify.terms import (
    Term,
    add,
    binary,
    const,
    evaluate,
    extract,
    linear,
    postorder,
    sign_extend,
    subtract,
    var,
    zero_extend,
)

BITS = 16
POINTER, OTHER = var("pointer", BITS), var("other", BITS)
SIMPLIFY = Simplifier(frozenset({POINTER}))


def down(term: Term, bits: int) -> Term:
    """The term with its lowest bits cleared."""
    return binary("bvand", term, const(~((1 << bits) - 1), term.width))


@pytest.mark.parametrize("width", [BITS, 8])
@pytest.mark.parametrize("offset", [0, 1, 20, 0xFFFC])
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_rounded_down(bits: int, offset: int, width: int) -> None:
    term = down(extract(add(POINTER, const(offset, BITS)), width - 1, 0), bits)
    simple = SIMPLIFY(term)
    assert "bvand" not in {part.op for part in postorder([simple])}
    for value in (*range(0x1230, 0x1238), 0, 0xFFFF):
        given = {POINTER: value}
        assert evaluate([term], given)[term] == evaluate([simple], given)[simple]


def test_two_numbers_that_end_alike() -> None:
    """Their low parts are the same, and count twice."""
    byte = var("byte", 8)
    both = add(zero_extend(byte, BITS - 8), sign_extend(byte, BITS - 8))
    term = extract(add(POINTER, both), 7, 0)
    given = {POINTER: 0, byte: 3}
    assert evaluate([SIMPLIFY(term)], given)[SIMPLIFY(term)] == 6


def test_what_is_between_is_known_in_each_case() -> None:
    """The number of words from there on, as code of 32 bits on a larger machine has it."""
    start = add(POINTER, const(20, BITS))
    between = subtract(extract(POINTER, 7, 0), extract(down(start, 3), 7, 0))
    simple = SIMPLIFY(between)
    for value in range(8):
        given = {POINTER: value}
        assert evaluate([between], given)[between] == evaluate([simple], given)[simple]
    assert {part.op for part in linear(simple).coefficients} == {"ite"}


@pytest.mark.parametrize(
    "term",
    [
        down(OTHER, 3),
        down(add(POINTER, OTHER), 3),
        down(subtract(const(0, BITS), POINTER), 3),
        down(POINTER, 4),
        binary("bvand", POINTER, const(7, BITS)),
        extract(add(OTHER, const(3, BITS)), 7, 0),
    ],
)
def test_everything_else_stays(term: Term) -> None:
    assert SIMPLIFY(term) is Simplifier()(term)
