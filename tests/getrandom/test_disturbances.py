"""What is wrong only where something happens in the midst of a call is not proved, and shows under
QEMU when that happens there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.getrandom.adversaries import FEW, target_in
from tests.getrandom.disturbances import DISTURBANCES, Disturbance
from tests.getrandom.test_prove import INSTRUCTION_SETS, proved
from tests.history.interrupting import wrong
from verify.getrandom.fork import BACK, RETURNED
from verify.history.catalogue import Histories

if TYPE_CHECKING:
    from pathlib import Path


def _mark(number: int, architecture: str) -> list[pytest.MarkDecorator]:
    """The first one is tested whenever tests run, the others seldom."""
    if architecture != "loongarch64":
        return [pytest.mark.long]
    return [pytest.mark.every_fault] if number else []


EACH = pytest.mark.parametrize(
    ("one", "architecture"),
    [
        pytest.param(
            one, architecture, id=f"{architecture}/{one.name}", marks=_mark(number, architecture)
        )
        for architecture in INSTRUCTION_SETS
        for number, one in enumerate(DISTURBANCES)
    ],
)


@EACH
def test_is_not_proved(one: Disturbance, architecture: str, tmp_path: Path) -> None:
    path = one.adversary.path(tmp_path, architecture)
    assert one.adversary.breaks.value not in proved(path, target_in(path), more=FEW)


@EACH
def test_shows_under_qemu(one: Disturbance, architecture: str, tmp_path: Path) -> None:
    binary = one.program(tmp_path, architecture)
    step = Histories(binary).interrupted(one.pos)[one.shown_by]
    interrupted, found = wrong(binary, [step], binary.instructions)
    assert 0 < len(found) < interrupted


@pytest.mark.parametrize(
    "word",
    [
        "gugr",
        "gugrF",
        "guuuwuugr",
        "gsKwuugr",
        "gsKwuugrF",
        "gsKzrF",
        "guguugr",
    ],
)
def test_a_word_of_a_call_that_returns(word: str) -> None:
    assert RETURNED.fullmatch(word)
    assert not BACK.fullmatch(word)


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ("gur", "no check"),
        ("gugur", "a use behind the check"),
        ("gugwr", "pos stored behind the check"),
        ("gurg", "released before the check"),
        ("gug", "not released"),
        ("gugrr", "released twice"),
        ("gugru", "used behind the release"),
        ("gKswugr", "generation stored behind the request"),
        ("gKwugr", "generation not stored"),
        ("gsuKwugr", "used between the two"),
        ("gsKuwugr", "used before pos is stored"),
        ("gsKugr", "pos not stored"),
        ("gusKwugr", "used before the generation is stored"),
        ("gsKwusKwugr", "two keys"),
        ("gsKwugsr", "generation stored at the end"),
        ("gswugr", "no key"),
        ("ugr", "no generation read at first"),
        ("gsKzugr", "goes on without a key"),
        ("gsKzF", "falls back and keeps the state"),
        ("guF", "falls back and keeps the state"),
        ("gugrFF", "falls back twice"),
        ("gu?gr", "something else"),
    ],
)
def test_other_words(word: str, what: str) -> None:
    assert not RETURNED.fullmatch(word), what
