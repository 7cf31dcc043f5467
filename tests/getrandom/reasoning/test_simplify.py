"""A simplified term is equal to what it was."""

from __future__ import annotations

import random

import pytest

from verify.getrandom.reasoning.simplify import Simplifier
from verify.terms import (
    Term,
    add,
    binary,
    concat,
    const,
    equal,
    evaluate,
    extract,
    iff_else,
    negate,
    postorder,
    sign_extend,
    subtract,
    unsigned_less,
    var,
    variables,
    zero_extend,
)
from verify.terms.term import COMPARE

WIDTH = 8
X, Y = var("x", WIDTH), var("y", WIDTH)


def some_term(values: random.Random, depth: int, width: int = WIDTH) -> Term:
    """A term of that width, of operators of every kind that code makes."""

    def some(bits: int = width) -> Term:
        return some_term(values, depth - 1, bits)

    part = values.randrange(1, width) if width > 1 else 0
    match values.randrange(12) if depth else -1:
        case 0 | 1 | 2:
            op = values.choice(("bvadd", "bvsub", "bvmul", "bvand", "bvor", "bvxor"))
            return binary(op, some(), some())
        case 3 | 4:
            return iff_else(_condition(values, depth - 1, width), some(), some())
        case 5:
            shift = const(values.choice((0, 1, width // 2, width - 1, width)), width)
            return binary(values.choice(("bvshl", "bvlshr", "bvashr")), some(), shift)
        case 6 if part:
            return values.choice((zero_extend, sign_extend))(some(part), width - part)
        case 7 if part:
            return concat(some(part), some(width - part))
        case 8:
            low = values.randrange(4)
            return extract(some(width + low + values.randrange(4)), low + width - 1, low)
        case 9:
            number, bits = some(), values.randrange(width)
            factor = const(values.choice((1 << bits, 1 << bits, 2 << bits, 3, 1)), width)
            quotient = binary("bvlshr", number, const(bits, width))
            return add(subtract(number, binary("bvmul", quotient, factor)), some())
        case 10:
            mask = values.choice((1, 3, 7, 0xF0, 0x3C, (1 << width) - 2))
            return binary("bvand", some(), const(mask, width))
    if values.random() < 0.5:
        return const(values.choice((0, 0, 1, 1, 255, 96)), width)
    return var(f"{values.choice('xyz')}{width}", width)


def _condition(values: random.Random, depth: int, width: int = WIDTH) -> Term:
    kind = values.choice((equal, unsigned_less))
    term = kind(*(some_term(values, max(depth, 0), width) for _ in "ab"))
    return negate(term) if values.random() < 0.5 else term


@pytest.mark.parametrize("seed", range(200))
def test_equal(seed: int) -> None:
    values = random.Random(seed)
    simplify = Simplifier()
    for term in (some_term(values, 4), _condition(values, 4)):
        simple = simplify(term)
        assert simple.width == term.width
        for _ in range(20):
            given = {
                one: values.choice((0, 1, 96, 255, values.getrandbits(16))) % (1 << one.width)
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


@pytest.mark.parametrize(
    ("term", "simple"),
    [
        (binary("bvand", X, const(7, WIDTH)), zero_extend(extract(X, 2, 0), 5)),
        (binary("bvlshr", X, const(3, WIDTH)), zero_extend(extract(X, 7, 3), 3)),
        (
            binary("bvand", X, const(0xF8, WIDTH)),
            binary("bvshl", zero_extend(extract(X, 7, 3), 3), const(3, WIDTH)),
        ),
        (subtract(X, binary("bvand", X, const(0xF8, WIDTH))), zero_extend(extract(X, 2, 0), 5)),
        (
            subtract(add(X, Y), binary("bvand", X, const(0xF8, WIDTH))),
            add(Y, zero_extend(extract(X, 2, 0), 5)),
        ),
        (
            binary("bvor", concat(extract(X, 7, 4), const(0, 4)), zero_extend(extract(Y, 3, 0), 4)),
            concat(extract(X, 7, 4), extract(Y, 3, 0)),
        ),
        (sign_extend(zero_extend(X, 1), 7), zero_extend(X, 8)),
        (extract(sign_extend(X, 8), 11, 4), sign_extend(extract(X, 7, 4), 4)),
        (extract(zero_extend(X, 8), 11, 4), zero_extend(extract(X, 7, 4), 4)),
    ],
)
def test_pieces_are_written_in_one_way(term: Term, simple: Term) -> None:
    simplify = Simplifier()
    assert simplify(term) is simple
    assert simplify(simple) is simple
