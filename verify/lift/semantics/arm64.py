"""What is particular to AArch64 under VEX: its flags.

VEX's `libvex_guest_arm64.h` describes the thunk; the flags lie as in NZCV, the conditions are
numbered as in the encodings (Arm Architecture Reference Manual for A-profile, "NZCV, Condition
Flags" and "Condition code").
Conditions are read from single bits, so that one that is certain is seen to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from angr import claripy
from angr.engines.vex.claripy.ccall import arm64g_calculate_flags_nzcv

from verify.lift.flags import FlagThunk

_COPIED = 0
_WIDTH = 64
_BITS = {"n": 31, "z": 30, "c": 29, "v": 28}
_OPERATION = 0xF
_CONDITION_SHIFT = 4
_ALWAYS = 7

FLAGS = FlagThunk(
    "cc_op", ("cc_dep1", "cc_dep2", "cc_ndep"), "arm64g_calculate_flags_nzcv", _COPIED
)

_CONDITIONS: tuple[Callable[[Mapping[str, Any]], Any], ...] = (
    lambda f: f["z"],
    lambda f: f["c"],
    lambda f: f["n"],
    lambda f: f["v"],
    lambda f: f["c"] & ~f["z"],
    lambda f: ~(f["n"] ^ f["v"]),
    lambda f: ~f["z"] & ~(f["n"] ^ f["v"]),
)
"""Each condition and its negation have two numbers: twice the index, and one more. The two numbers
behind them, 14 and 15, both hold always."""


def _flags(state: Any, operation: Any, *operands: Any) -> Mapping[str, Any]:
    """The flags as single bits."""
    settled = operation.op == "BVV" and operation.concrete_value == _COPIED
    flags = operands[0] if settled else arm64g_calculate_flags_nzcv(state, operation, *operands)
    return {name: flags[bit] for name, bit in _BITS.items()}


def _condition(state: Any, number_and_operation: Any, *operands: Any) -> Any:
    """1 where the condition in bits 7..4 (constant) of the first argument holds, else 0, in 64
    bits; the operation is in bits 3..0."""
    which, negated = divmod(number_and_operation.concrete_value >> _CONDITION_SHIFT, 2)
    if which == _ALWAYS:
        return claripy.BVV(1, _WIDTH)
    operation = claripy.BVV(number_and_operation.concrete_value & _OPERATION, _WIDTH)
    holds = _CONDITIONS[which](_flags(state, operation, *operands))
    return (holds ^ negated).zero_extend(_WIDTH - 1)


def _flag(name: str, state: Any, *thunk: Any) -> Any:
    """One flag in 64 bits."""
    return _flags(state, *thunk)[name].zero_extend(_WIDTH - 1)


HELPERS: Mapping[str, Callable[..., Any]] = {
    "arm64g_calculate_condition": _condition,
    **{f"arm64g_calculate_flag_{name}": partial(_flag, name) for name in _BITS},
}
