"""The VEX operations that are added, against Python's integers."""

from __future__ import annotations

import random
import re

import pytest
from pyvex import enums

from verify.lift.angr_import import import_angr
from verify.terms import evaluate, var

import_angr()

from angr import claripy  # noqa: E402

from verify.lift.convert import Converter  # noqa: E402
from verify.lift.semantics.vex import OPERATIONS  # noqa: E402

REVERSE = re.compile(r"Iop_Reverse(\d+)sIn(\d+)_x(\d+)")
ZERO_HIGH = re.compile(r"Iop_ZeroHI(\d+)ofV128")
STATES = 50


def expected(name: str, value: int) -> tuple[int, int]:
    """(width in bits, result) of an operation, from bits as text."""
    found = ZERO_HIGH.fullmatch(name)
    if found is not None:
        cleared = int(found[1])
        return 128, int(f"{value:0128b}"[cleared:], 2)
    found = REVERSE.fullmatch(name)
    assert found is not None
    piece, lane, count = map(int, found.groups())
    width = lane * count
    bits = f"{value % 2**width:0{width}b}"
    lanes = [bits[at : at + lane] for at in range(0, width, lane)]
    swapped = [
        "".join(reversed([part[at : at + piece] for at in range(0, lane, piece)])) for part in lanes
    ]
    return width, int("".join(swapped), 2)


def width_of(name: str) -> int:
    return expected(name, 0)[0]


@pytest.mark.parametrize("name", OPERATIONS)
def test_like_pythons_integers(name: str) -> None:
    width = width_of(name)
    operand = var("x", width)
    result = OPERATIONS[name](claripy.BVS("x", width, explicit_name=True))
    term = Converter().term(result)
    assert term.width == width
    generator = random.Random(name)
    for state in range(STATES):
        value = 1 << state % width if state % 2 else generator.getrandbits(width)
        assert evaluate([term], {operand: value})[term] == expected(name, value)[1]


def test_every_reversal_of_bytes_and_more_that_vex_has() -> None:
    known = {name for name in enums.irop_enums_to_ints if REVERSE.fullmatch(name)}
    assert known, "VEX's operations are not known by name"
    wide = {name for name in known if not name.startswith("Iop_Reverse1s")}
    assert wide <= set(OPERATIONS)
