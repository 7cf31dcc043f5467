"""Damaged binaries lead to a target or to one line, never to anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verify.errors import InputError
from verify.image import images_in
from verify.inspection import inspect
from verify.locate import find_target

ROOT = Path(__file__).resolve().parents[2]
BINARIES = [
    (ROOT / "binaries" / architecture / f"looped{suffix}.so").read_bytes()
    for architecture in ("loongarch64", "powerpc64le")
    for suffix in ("", ".stripped")
]
TEXT = 0x300
"""Where their code begins, in the file as in memory."""


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A binary with a few bytes changed, half of the time in its code, perhaps cut short."""
    data = bytearray(draw(st.sampled_from(BINARIES)))
    first, last = draw(st.sampled_from([(0, len(data)), (TEXT, TEXT + 1024)]))
    places = st.integers(first, last - 1)
    for place, value in draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=6)):
        data[place] = value
    if draw(st.integers(0, 9)) == 0:
        del data[draw(st.integers(0, len(data))) :]
    return bytes(data)


def find_and_inspect(data: bytes) -> None:
    try:
        for image in images_in(data, "x"):
            target = find_target(image, "x", "")
            function = target.function
            assert function.size == len(target.function_bytes) > 0
            assert image.elf.text_contains(function.address)
            inspection = inspect(target)
            assert inspection.instructions[0].address == function.address
    except InputError as error:
        message = str(error)
        assert message.startswith("x: ") and message.isprintable()


@given(damaged())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_damaged(data: bytes) -> None:
    find_and_inspect(data)


@pytest.mark.long
@given(damaged())
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
def test_damaged_thousands_of_times(data: bytes) -> None:
    find_and_inspect(data)
