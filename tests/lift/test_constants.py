"""Where angr's own arithmetic on constants is wrong, the engines do without it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lift.programs import run, start
from verify.arch import by_name
from verify.lift.machine import Unsupported
from verify.terms import const
from verify.terms.term import BINARY

from angr import claripy  # isort: skip
from pypcode import OpCode  # isort: skip

POWERPC = by_name("powerpc64le")
PCODE = POWERPC.read_by_other() or POWERPC

SHIFTS: dict[str, Callable[[Any, Any], Any]] = {
    "bvshl": lambda a, b: a << b,
    "bvlshr": claripy.LShR,
    "bvashr": lambda a, b: a >> b,
}


@pytest.mark.parametrize("op", SHIFTS)
@given(st.data())
def test_angr_shifts_constants_rightly_up_to_64_bits(op: str, data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 64))
    value = data.draw(st.integers(0, 2**width - 1))
    amount = data.draw(st.integers(0, min(2**width, 2**32) - 1))
    got = SHIFTS[op](claripy.BVV(value, width), claripy.BVV(amount, width))
    assert got.concrete_value == BINARY[op](value, amount, width)


@pytest.mark.parametrize("op", SHIFTS)
def test_the_detours_are_needed(op: str) -> None:
    """When this fails, angr has learnt to shift, and `unfolded` and `_refuse_far_shift` can go."""
    wide = SHIFTS[op](claripy.BVV(3 << 126, 128), claripy.BVV(4, 128))
    assert wide.concrete_value != BINARY[op](3 << 126, 4, 128)
    far = SHIFTS[op](claripy.BVV(1 << 62, 64), claripy.BVV(2**32 + 1, 64))
    assert far.concrete_value != BINARY[op](1 << 62, 2**32 + 1, 64)


def test_vex_shifts_a_vector_of_constants() -> None:
    # vspltisw v0, 5; vxor v2, v2, v2; vsldoi v1, v0, v2, 4
    words = [0x1005038C, 0x104214C4, 0x1020112C]
    _, registers = run(POWERPC, words)
    fives = 0x00000005_00000005_00000005_00000005
    assert registers["v0"] is const(fives, 128)
    assert registers["v1"] is const(fives << 32 & (1 << 128) - 1, 128)


def test_vex_shifts_a_constant_that_no_register_held() -> None:
    engine: Any
    engine, machine = start(POWERPC, [0x60000000])
    engine.state.machine = machine
    shifted = engine._perform_vex_expr_Op(
        "Iop_ShrV128", [claripy.BVV(6 << 100, 128), claripy.BVV(8, 8)]
    )
    assert machine.converter.term(shifted) is const(6 << 92, 128)


def test_a_register_of_constants_can_be_shifted() -> None:
    engine, machine = start(POWERPC, [0x60000000])
    offset, size = engine.layout.registers["vsr32"]
    machine.put(offset, claripy.BVV(6 << 100, 8 * size))
    value = machine.get(offset, size)
    assert machine.converter.term(value) is const(6 << 100, 128)
    assert machine.converter.term(claripy.LShR(value, 8)) is const(6 << 92, 128)
    machine.put(offset, value)
    assert machine.register_writes[-1].value is const(6 << 100, 128)


def test_pcode_takes_the_upper_half_of_a_product_of_constants() -> None:
    # li r4, 3; sldi r4, r4, 62; li r5, 8; mulhdu r3, r4, r5
    words = [0x38800003, 0x7884F046, 0x38A00008, 0x7C642812]
    _, registers = run(PCODE, words)
    assert registers["r4"] is const(3 << 62, 64)
    assert registers["r3"] is const(6, 64)


def constant(value: int) -> Any:
    return SimpleNamespace(space=SimpleNamespace(name="const"), offset=value, size=8)


@pytest.mark.parametrize("opcode", [OpCode.INT_LEFT, OpCode.INT_RIGHT, OpCode.INT_SRIGHT])
@pytest.mark.parametrize(("amount", "refused"), [(63, False), (2**32 - 1, False), (2**32, True)])
def test_pcode_does_not_shift_further_than_angr_can(
    opcode: Any, amount: int, refused: bool
) -> None:
    engine: Any
    engine, machine = start(PCODE, [0x60000000])
    engine._machine = machine
    output = SimpleNamespace(space=SimpleNamespace(name="unique"), offset=0, size=8)
    engine._current_op = SimpleNamespace(
        opcode=opcode, inputs=[constant(1 << 63), constant(amount)], output=output
    )
    engine._current_behavior = engine._lifter.behaviors.get_behavior_for_opcode(opcode)
    if refused:
        with pytest.raises(Unsupported, match=r"0x400: shift by 2\^32 or more bits"):
            engine._operation()
    else:
        engine._operation()
        name = {OpCode.INT_LEFT: "bvshl", OpCode.INT_RIGHT: "bvlshr"}.get(opcode, "bvashr")
        assert engine._temporaries[0].concrete_value == BINARY[name](1 << 63, amount, 64)
