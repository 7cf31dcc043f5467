"""The operations of Z3Values give, on constants and on variables, what those of IntValues give."""

from collections.abc import Callable, Sequence

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from specs.values import INT_VALUES, Values
from specs.z3values import Z3Values

CORNERS = (0, 1, 63, 64, 65, 96, 127, 128, 200, 255, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
numbers = st.one_of(st.sampled_from(CORNERS), st.integers(0, 2**64 - 1))
octets = st.lists(st.integers(0, 255), min_size=4, max_size=4)


def no_decision(condition: z3.BoolRef) -> bool:
    raise AssertionError(f"not constant: {condition}")


CONSTANT = Z3Values(no_decision)


def constant(value: int, bits: int = 64) -> z3.BitVecRef:
    return z3.BitVecVal(value, bits)


OPERATIONS: dict[str, Callable[[Values, object, object], object]] = {  # type: ignore[type-arg]
    "add": lambda v, a, b: v.resized(v.add(v.shifted_right(a, 1), v.shifted_right(b, 1)), 64),
    "sub": lambda v, a, b: v.sub(a, v.minimum(a, b)),
    "masked": lambda v, a, b: v.masked(a, 0xF0F0_F0F0_F0F0_F0F0),
    "shifted_right": lambda v, a, b: v.shifted_right(a, 6),
    "cut": lambda v, a, b: v.resized(a, 8),
    "extended": lambda v, a, b: v.resized(v.resized(a, 8), 64),
    "minimum": lambda v, a, b: v.minimum(a, b),
    "equal": lambda v, a, b: v.equal(a, b),
    "less": lambda v, a, b: v.less(a, b),
}


def number(term: object) -> object:
    return z3.simplify(term).as_long() if isinstance(term, z3.BitVecRef) else term


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=30)
@given(a=numbers, b=numbers)
def test_operation_on_numbers(name: str, a: int, b: int) -> None:
    operation = OPERATIONS[name]
    for x, y in ((a, b), (b, a), (a, a)):
        expected = operation(INT_VALUES, x, y)
        assert number(operation(CONSTANT, constant(x), constant(y))) == expected
        decided = Z3Values(lambda condition, x=x, y=y: holds(condition, x, y))  # type: ignore[misc]
        result = operation(decided, *VARIABLES)
        assert number(at(result, x, y) if isinstance(result, z3.ExprRef) else result) == expected


VARIABLES = (z3.BitVec("a", 64), z3.BitVec("b", 64))


def at(term: z3.ExprRef, a: int, b: int) -> z3.ExprRef:
    values = zip(VARIABLES, (constant(a), constant(b)), strict=True)
    return z3.simplify(z3.substitute(term, *values))


def holds(condition: z3.BoolRef, a: int, b: int) -> bool:
    return bool(z3.is_true(at(condition, a, b)))


def bytes_of(terms: Sequence[z3.BitVecRef]) -> tuple[int, ...]:
    return tuple(z3.simplify(term).as_long() for term in terms)


@settings(max_examples=30)
@given(octets)
def test_words_and_their_bytes(given_octets: list[int]) -> None:
    word = INT_VALUES.join(given_octets)
    term = CONSTANT.join([constant(octet, 8) for octet in given_octets])
    assert z3.simplify(term).as_long() == word
    assert INT_VALUES.split(word) == tuple(reversed(given_octets))
    assert bytes_of(CONSTANT.split(term)) == tuple(reversed(given_octets))


@settings(max_examples=30)
@given(st.integers(0, 8), st.integers(0, 8))
def test_erased_bytes(start: int, length: int) -> None:
    count = min(length, 8 - start)
    numbers = tuple(range(1, 9))
    expected = tuple(0 if start <= i < start + count else i + 1 for i in range(8))
    assert INT_VALUES.erased(numbers, start, count) == expected
    terms = [constant(value, 8) for value in numbers]
    assert bytes_of(CONSTANT.erased(terms, constant(start), constant(count))) == expected
    symbolic = CONSTANT.erased(terms, *VARIABLES)
    assert bytes_of([at(term, start, count) for term in symbolic]) == expected


def test_block_has_the_words_of_the_counter_in_order() -> None:
    key = range(1, 9)
    counter = 5 * 2**32 + 3
    block = CONSTANT.block([constant(word, 32) for word in key], constant(counter))
    assert bytes_of(block) == INT_VALUES.block(key, counter)
