"""Cells against a model that is an array of bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.lift.angr_import import import_angr

import_angr()

from angr import claripy  # noqa: E402

from verify.lift.cells import Cells  # noqa: E402

SIZE = 48
REGISTER = 16
INITIAL = bytes(0x80 + n for n in range(SIZE))

offsets = st.integers(0, SIZE - 1)
sizes = st.integers(1, 16)
steps = st.lists(st.tuples(st.sampled_from(["read", "write", "copy"]), offsets, sizes), max_size=24)


def value_of(data: bytes, little: bool) -> Any:
    return claripy.BVV(int.from_bytes(data, "little" if little else "big"), 8 * len(data))


def bytes_of(value: Any, little: bool) -> bytes:
    return int(value.concrete_value).to_bytes(value.size() // 8, "little" if little else "big")


class Model:
    """Cells, and next to them the bytes that they should hold."""

    def __init__(self, little: bool, whole_registers: bool) -> None:
        self.little = little
        self.asked: list[tuple[int, int]] = []
        self.content = bytearray(INITIAL)

        def initial(offset: int, size: int) -> tuple[int, int, Any]:
            self.asked.append((offset, size))
            if whole_registers:
                offset, size = offset - offset % REGISTER, REGISTER
            return offset, size, value_of(INITIAL[offset : offset + size], little)

        self.cells = Cells(little, initial)

    def write(self, offset: int, data: bytes) -> None:
        self.cells.write(offset, value_of(data, self.little))
        self.content[offset : offset + len(data)] = data

    def check(self, offset: int, size: int) -> None:
        value = self.cells.read(offset, size)
        assert bytes_of(value, self.little) == self.content[offset : offset + size]


@pytest.mark.parametrize("little", [True, False], ids=["little", "big"])
@pytest.mark.parametrize("whole_registers", [True, False], ids=["registers", "memory"])
@given(steps, st.randoms(use_true_random=False))
def test_like_an_array_of_bytes(
    little: bool, whole_registers: bool, steps: list[tuple[str, int, int]], values: Any
) -> None:
    model = Model(little, whole_registers)
    left_behind = []
    for action, offset, wanted in steps:
        size = min(wanted, SIZE - offset)
        if action == "read":
            model.check(offset, size)
        elif action == "write":
            model.write(offset, values.randbytes(size))
            assert model.cells.covers(offset, size)
        else:
            left_behind.append((model.cells, bytes(model.content)))
            model.cells = model.cells.copy()
    for offset in range(SIZE):
        model.check(offset, 1)
    model.check(0, SIZE)
    held = [byte for _, _, value in model.cells for byte in bytes_of(value, little)]
    assert bytes(held) == model.content
    places = [offset + n for offset, size, _ in model.cells for n in range(size)]
    assert places == list(range(SIZE))
    for cells, content in left_behind:
        assert bytes_of(cells.read(0, SIZE), little) == content


@pytest.mark.parametrize("little", [True, False], ids=["little", "big"])
def test_a_part_written_first_survives_reading_the_whole_register(little: bool) -> None:
    model = Model(little, whole_registers=True)
    model.write(REGISTER + 8, b"\1\2\3\4")
    model.check(REGISTER, REGISTER)
    model.check(REGISTER + 4, 8)


def test_what_was_never_written_is_asked_for_once() -> None:
    model = Model(little=True, whole_registers=False)
    model.write(4, b"\1\2")
    assert not model.cells.covers(0, 8)
    assert model.cells.covers(4, 2)
    model.check(0, 8)
    assert model.asked == [(0, 4), (6, 2)]
    model.check(0, 8)
    model.check(1, 3)
    assert model.asked == [(0, 4), (6, 2)]
    assert model.cells.covers(0, 8)


def test_a_value_written_is_the_value_read() -> None:
    cells = Model(little=True, whole_registers=False).cells
    symbol = claripy.BVS("x", 64)
    cells.write(8, symbol)
    assert cells.read(8, 8) is symbol
    cells.write(8, claripy.BVS("y", 64))
    assert cells.read(8, 8) is not symbol
