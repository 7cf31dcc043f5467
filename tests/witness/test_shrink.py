"""Inputs become as simple as they can be, and what is said of them is so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.witness import Breach, Budget, Inputs, key_neighbours, shrink
from verify.witness.inputs import ZEROS
from verify.witness.shrink import set_bits

Shows = Callable[[Inputs], bool]
KEY = (0x12345678, 0x9ABCDEF0, 1, 2, 3, 0x80000000, 0xFFFFFFFF, 7)
AMPLE = Budget(calls=4000, batch=400, sightings=4000)


def breach(inputs: Inputs) -> Breach:
    return Breach("output", "wrong", "it is wrong", "1", "2", inputs)


def shrunk(inputs: Inputs, shows: Shows, budget: Budget = AMPLE) -> tuple[Inputs, tuple[str, ...]]:
    asked: list[Inputs] = []

    def again(calls: Sequence[Inputs]) -> list[Breach | None]:
        asked.extend(calls)
        return [breach(one) if shows(one) else None for one in calls]

    assert shows(inputs)
    found = shrink(breach(inputs), again, budget)
    assert shows(found.breach.inputs)
    assert len(asked) <= budget.calls
    return found.breach.inputs, found.notes


def key_number(inputs: Inputs) -> int:
    return sum(word << 32 * n for n, word in enumerate(inputs.key))


CASES: dict[str, tuple[Inputs, Shows, Inputs]] = {
    "anything": (
        Inputs(KEY, 0xDEADBEEF, 5, seed=9, registers={"t0": 4}),
        lambda _: True,
        Inputs(ZEROS, 0, 1),
    ),
    "carry": (
        Inputs(KEY, 0x1234_FFFF_FFFF, 1),
        lambda one: one.counter % 2**32 + one.nblocks > 2**32 - 1,
        Inputs(ZEROS, 0xFFFF_FFFF, 1),
    ),
    "carry in the last block": (
        Inputs(KEY, 0x1234_FFFF_FFFD, 5),
        lambda one: any((one.counter + n) % 2**32 == 0 for n in range(1, one.nblocks)),
        Inputs(ZEROS, 0xFFFF_FFFF, 2),
    ),
    "two bits of the key": (
        Inputs(KEY, 77, 3),
        lambda one: bool(one.key[6] >> 9 & one.key[0] >> 3 & 1),
        Inputs((8, 0, 0, 0, 0, 0, 1 << 9, 0), 0, 1),
    ),
    "any bit of a word": (
        Inputs(KEY, 77, 1),
        lambda one: one.key[6] != 0,
        Inputs((0, 0, 0, 0, 0, 0, 1, 0), 0, 1),
    ),
    "a refill": (
        Inputs(KEY, 77, 2, in_place=True),
        lambda one: one.in_place,
        Inputs(ZEROS, 0, 2, in_place=True),
    ),
    "a register": (
        Inputs(KEY, 0, 1, registers={"t0": 4}),
        lambda one: one.registers.get("t0") == 4,
        Inputs(ZEROS, 0, 1, registers={"t0": 4}),
    ),
    "a seed": (
        Inputs(KEY, 0, 2, seed=3),
        lambda one: one.seed == 3,
        Inputs(ZEROS, 0, 1, seed=3),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_simplest_inputs(name: str) -> None:
    inputs, shows, simplest = CASES[name]
    assert shrunk(inputs, lambda one: bool(shows(one)))[0] == simplest


@given(
    st.integers(0, 2**320 - 1),
    st.sets(st.integers(0, 319), max_size=6),
)
@settings(max_examples=30, deadline=None)
def test_bits_that_are_needed_are_what_is_left(value: int, needed: set[int]) -> None:
    wanted = sum(1 << bit for bit in needed)
    value |= wanted
    key = tuple(value >> 32 * n & 0xFFFF_FFFF for n in range(8))

    def shows(one: Inputs) -> bool:
        return (one.counter << 256 | key_number(one)) & wanted == wanted

    found, notes = shrunk(Inputs(key, value >> 256, 1), shows)
    assert set(set_bits(found)) == needed
    assert any("cleared it is not seen" in note for note in notes) == bool(needed)


def test_notes() -> None:
    inputs, shows, _ = CASES["carry in the last block"]
    assert shrunk(inputs, shows)[1] == (
        "not seen with fewer than 2 blocks",
        "32 bits of key and counter are set, and with any one of them cleared it is not seen",
        "of 32 random other values each, so many show it: key 32, low word of the counter 0,"
        " high word of the counter 32",
    )
    assert shrunk(*CASES["a refill"][:2])[1][1] == "seen only with the key at dst + 96"


@pytest.mark.parametrize("budget", [Budget(0, 1, 9), Budget(5, 1, 9), Budget(99, 50, 1)])
def test_little_may_be_executed(budget: Budget) -> None:
    inputs = dataclasses.replace(CASES["two bits of the key"][0], nblocks=1)
    found, notes = shrunk(inputs, lambda one: one.key == KEY, budget)
    assert found.key == KEY
    assert not any("cleared" in note for note in notes)


def test_neighbours_differ_in_one_bit_of_the_key() -> None:
    inputs = Inputs(KEY, 5, 2, seed=4)
    near = key_neighbours(inputs)
    differences = [key_number(one) ^ key_number(inputs) for one in near]
    assert differences == [1 << bit for bit in range(256)]
    assert all(dataclasses.replace(one, key=KEY) == inputs for one in near)
