"""The project's own complete getrandoms do what the specification says, under QEMU."""

from __future__ import annotations

import random

import pytest

from tests.history.programs import BINARIES, EACH_ONCE, PROGRAMS, program
from verify.history import History, departure, execute, specified
from verify.history.catalogue import Histories, random_history
from verify.image import open_images

EACH = pytest.mark.parametrize("name", PROGRAMS)


def departures(name: str, histories: list[History]) -> dict[int, str]:
    """Where the executions of these histories depart from the specification, by their number."""
    one = program(name)
    executed = execute(one, histories)
    found = {
        number: departure(list(specified(one, history)), done)
        for number, (history, done) in enumerate(zip(histories, executed, strict=True))
    }
    return {number: text for number, text in found.items() if text}


def random_histories(name: str, count: int, calls: int, seed: int = 0) -> list[History]:
    values = random.Random(seed)
    return [random_history(program(name), values, calls) for _ in range(count)]


@EACH
def test_nothing_is_left_to_a_loader(name: str) -> None:
    (image,) = open_images(BINARIES / f"{name}.so")
    assert image.elf.relocations == ()
    assert image.elf.getrandom is not None
    assert image.elf.exports == (image.elf.getrandom.name,)
    assert not any(segment.writable for segment in image.elf.segments)


@EACH
def test_short_histories(name: str) -> None:
    named = Histories(program(name)).named()
    found = departures(name, list(named.values()))
    assert {list(named)[number]: text for number, text in found.items()} == {}


@pytest.mark.parametrize("name", EACH_ONCE)
def test_random_histories(name: str) -> None:
    assert departures(name, random_histories(name, 70, 3)) == {}


@pytest.mark.long
@EACH
def test_many_random_histories(name: str) -> None:
    assert departures(name, random_histories(name, 200, 40, seed=1)) == {}
