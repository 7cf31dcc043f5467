"""What this project adds to VEX on s390x: right, and needed as long as stock semantics fail here.

Where a later version of angr or pyvex passes without an addition, that addition can go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.validate.readings import own_target
from verify.arch import Architecture, by_name
from verify.lift.angr_import import import_angr
from verify.lift.engine import CodeReader, Engine
from verify.lift.select import engine_for
from verify.lift.semantics.s390x import HELPERS, OPERATIONS
from verify.target import CodeSegment, Function
from verify.validate.campaign import Lifter, validate, validate_all
from verify.validate.encodings import Form, encoding_of
from verify.validate.model import Validation

import_angr()

SIZES = ((8, 16), (16, 8), (32, 4), (64, 2))


def _sized(name: str, second: int) -> dict[str, str]:
    """For each size of elements: VEX's operation, and an instruction whose last byte is given."""
    return {
        f"Iop_{name}{width}x{count}": f"e7000000{size}0{second:02x}"
        for size, (width, count) in enumerate(SIZES)
    }


# VEX's operation or helper, and an instruction that needs it and no other, all operands zero.
NEEDED = {
    **_sized("GetElem", 0x21),  # vlgv
    **_sized("SetElem", 0x22),  # vlvg
    **_sized("Rol", 0x33),  # verll
    **_sized("ShlN", 0x30),  # vesl
    **_sized("ShrN", 0x38),  # vesrl
    **_sized("SarN", 0x3A),  # vesra
    **_sized("Shl", 0x70),  # veslv
    **_sized("Shr", 0x78),  # vesrlv
    **_sized("Sar", 0x7A),  # vesrav
    "Iop_NarrowBin16to8x16": "e70000001094",  # vpkh
    "Iop_NarrowBin32to16x8": "e70000002094",  # vpkf
    "Iop_NarrowBin64to32x4": "e70000003094",  # vpkg
    "Iop_Perm8x16": "e6000000200e",  # vstbrf
    "Iop_Perm8x16x2": "e7000000008c",  # vperm
    "s390_calculate_cc": "b9980000",  # alcr
    "s390_calculate_cond": "a7040000",  # brc
}
MOVES = ("d20010002000", "d20710002000")
"""mvc of 1 and 8 bytes."""
TESTS_OF_ONE_BIT = ("a7e10004", "a7e20004")
"""tmll and tmhh."""
OF_THE_HARNESS = {"settled"}
"""Helpers that no instruction needs: what the harness itself asks for."""


def stock(architecture: Architecture, code: CodeReader) -> Engine:
    """The engine without what this project adds for s390x."""
    engine: Any = engine_for(architecture, code)
    own = set(engine._operations) - OPERATIONS.keys()
    engine._operations = {name: engine._operations[name] for name in own}
    engine._helpers = {name: HELPERS[name] for name in OF_THE_HARNESS}
    engine._added = ()
    without: Engine = engine
    return without


def form(code: str) -> Form:
    return encoding_of("s390x", "big").form(bytes.fromhex(code))


def passed(validation: Validation) -> dict[str, bool]:
    """For each of the instructions, whether its form was found to agree with QEMU."""
    groups = {group.form: group.passed for group in validation.groups}
    return {name: groups[form(code)] for name, code in NEEDED.items()}


@pytest.fixture(scope="module")
def forms() -> list[Form]:
    return [form(code) for code in NEEDED.values()]


def test_our_semantics_agree_with_qemu(forms: list[Form]) -> None:
    validation = validate_all(by_name("s390x"), [], 128, forms=forms)
    assert passed(validation) == dict.fromkeys(NEEDED, True)


def test_stock_semantics_do_not(forms: list[Form]) -> None:
    validation = validate_all(by_name("s390x"), [], 128, forms=forms, lifter=stock)
    assert passed(validation) == dict.fromkeys(NEEDED, False)
    wrong = {group.form for group in validation.groups if group.mismatches}
    assert {form(NEEDED[f"Iop_SetElem{width}x{count}"]) for width, count in SIZES} <= wrong


@pytest.mark.parametrize(
    ("codes", "lifter", "agrees"),
    [(MOVES, engine_for, True), (MOVES, stock, False), (TESTS_OF_ONE_BIT, engine_for, True)],
)
def test_moves_and_tests_of_one_bit(codes: Sequence[str], lifter: Lifter, agrees: bool) -> None:
    validation = validate_all(
        by_name("s390x"), [], 16, forms=[form(code) for code in codes], lifter=lifter
    )
    assert [group.passed for group in validation.groups] == [agrees] * len(codes)


def test_every_addition_is_needed_by_an_instruction() -> None:
    assert NEEDED.keys() | OF_THE_HARNESS == OPERATIONS.keys() | HELPERS.keys()


def test_both_ways_through_a_comparison_with_a_number() -> None:
    # cgije %r2, 32, .+12; then returns
    code = bytes.fromhex("ec280006207c" + 8 * "07fe")
    target = replace(
        own_target("s390x/looped.so"),
        segments=(CodeSegment(0x1000, code, True),),
        function=Function("words", 0x1000, len(code), "made for a test"),
    )
    for seed in range(4):
        validation = validate(target, 64, seed)
        assert validation.passed, [group.reason for group in validation.groups]
