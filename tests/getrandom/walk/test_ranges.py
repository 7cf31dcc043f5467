"""That a read lies apart from what was erased is seen only where it does."""

from __future__ import annotations

from itertools import product

import pytest

from specs.opaque_state import BATCH_BYTES
from verify.getrandom.walk.events import BatchRead, Zero
from verify.getrandom.walk.ranges import apart
from verify.terms import Linear, evaluate, var

WIDTH = 8
ANYWHERE, OTHER = var("anywhere", WIDTH), var("other", WIDTH)


def at(constant: int) -> Linear:
    return Linear(WIDTH, constant, {ANYWHERE: 1})


def size(number: int) -> Linear:
    return Linear(WIDTH, number)


def inside(start: int, length: int) -> bool:
    return start <= BATCH_BYTES - length


@pytest.mark.parametrize("distance", [-128, -97, -9, -8, -5, -4, -1, 0, 1, 3, 4, 5, 8, 97, 127])
@pytest.mark.parametrize("erased", [1, 4, 9, BATCH_BYTES])
@pytest.mark.parametrize("read", [1, 8])
def test_apart(distance: int, erased: int, read: int) -> None:
    zero = Zero(0, 0, at(0), size(erased))
    access = BatchRead(0, 0, at(distance), size(read))
    start = access.start.term()
    places = []
    for value in range(1 << WIDTH):
        first = evaluate([start], {ANYWHERE: value})[start]
        if inside(value, erased) and inside(first, read):
            places.append((range(value, value + erased), range(first, first + read)))
    disjoint = all(not set(one) & set(other) for one, other in places)
    assert not apart(zero, access) or disjoint
    if places:
        assert apart(zero, access) == disjoint


def test_what_is_not_known_to_be_apart() -> None:
    here = BatchRead(0, 0, at(0), size(1))
    elsewhere = BatchRead(0, 0, Linear(WIDTH, 0, {OTHER: 1}), size(1))
    assert not apart(Zero(0, 0, at(1), size(4)), elsewhere)
    for length, start in product((Linear(WIDTH, 0, {OTHER: 1}), size(0)), (-8, 8)):
        assert not apart(Zero(0, 0, at(start), length), here)
