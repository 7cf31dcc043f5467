"""A formula that fits is found, and where none fits there is none."""

from __future__ import annotations

import pytest

from specs.contract import BLOCK_BYTES
from verify.cost.cost import calls
from verify.cost.formula import Term, formulas

CALLS = tuple(calls())
WORDS = (80, 88, 91, 87, 90, 94, 97)


def bytewise(length: int, pos: int) -> int:
    left = 96 - pos
    if length <= left:
        return 90 + 6 * length - (length == left)
    blocks, rest = divmod(length - left, BLOCK_BYTES)
    some = 50 * (blocks > 0) - 9 * (not left) - 12 * (not rest)
    return 2239 + 1041 * blocks + 6 * left + 7 * rest + some


def wordwise(length: int, pos: int) -> int:
    left = 96 - pos
    if length <= left:
        return WORDS[length - 1] if length < 8 else 7 * (length // 8) + 80 + length % 8 // 3
    blocks, rest = divmod(length - left, BLOCK_BYTES)
    return 900 + 577 * blocks + sum(7 * (one // 8) + one % 8 % 3 for one in (left, rest))


def test_bytes() -> None:
    found = formulas({call: bytewise(*call) for call in CALLS})
    assert str(found.within) == "90 + 6 len - 1 [len = 96 - pos]"
    assert str(found.beyond) == (
        "2239 + 1041 blocks + 50 [blocks > 0] + 6 first - 9 [first = 0] + 7 rest - 12 [rest = 0]"
    )


def test_words() -> None:
    found = formulas({call: wordwise(*call) for call in CALLS})
    assert found.within is not None and found.beyond is not None
    assert found.within.terms == (
        Term("len div 8", (7,)),
        Term("len = 1..7", WORDS),
        Term("len mod 8 = 0..7 if len >= 8", (80, 80, 80, 81, 81, 81, 82, 82)),
    )
    assert found.beyond.terms[:2] == (Term("", (900,)), Term("blocks", (577,)))


@pytest.mark.parametrize("call", [(4, 17), (96, 0), (32, 70), (256, 0), (1024, 96)])
def test_one_call_that_differs(call: tuple[int, int]) -> None:
    assert call in CALLS
    within = call[0] <= 96 - call[1]
    for cost in (bytewise, wordwise):
        found = formulas({one: cost(*one) + (one == call) for one in CALLS})
        assert (found.within is None) == within
        assert (found.beyond is None) == (not within)


def test_two_words_at_once_are_not_taken_for_words() -> None:
    found = formulas({(length, pos): 50 + length // 16 for length, pos in CALLS})
    assert found.within is None


def test_too_few_calls_for_a_formula() -> None:
    found = formulas({call: bytewise(*call) for call in CALLS if call[0] == 4})
    assert found.within is None
    assert formulas({}).within is None
