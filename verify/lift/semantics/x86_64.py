"""What is particular to x86-64 under VEX: its flags, and that SSE needs aligned operands.

VEX's `libvex_guest_amd64.h` describes the thunk; the flags lie as in RFLAGS (Intel 64 and IA-32
Architectures Software Developer's Manual, Volume 1, section 3.4.3), the conditions are numbered as
in the encodings (Volume 1, appendix B). The values that VEX gives to what the manual leaves
undefined are not used. Conditions are read from single bits, so that one that is certain is seen to
be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from angr.engines.vex.claripy.ccall import amd64g_calculate_rflags_all

from verify.lift.flags import FlagThunk
from verify.lift.semantics.x86_64_code import alignment, undefined_flags

_COPIED = 0
_WIDTH = 64
_BITS = {"c": 0, "p": 2, "a": 4, "z": 6, "s": 7, "o": 11}

_CONDITIONS: tuple[Callable[[Mapping[str, Any]], Any], ...] = (
    lambda f: f["o"],
    lambda f: f["c"],
    lambda f: f["z"],
    lambda f: f["c"] | f["z"],
    lambda f: f["s"],
    lambda f: f["p"],
    lambda f: f["s"] ^ f["o"],
    lambda f: (f["s"] ^ f["o"]) | f["z"],
)
"""Each condition and its negation have two numbers: twice the index, and one more."""


def _flags(state: Any, operation: Any, *operands: Any) -> Mapping[str, Any]:
    """The flags as single bits."""
    settled = operation.op == "BVV" and operation.concrete_value == _COPIED
    flags = operands[0] if settled else amd64g_calculate_rflags_all(state, operation, *operands)
    return {name: flags[bit] for name, bit in _BITS.items()}


def _condition(state: Any, number: Any, operation: Any, *operands: Any) -> Any:
    """1 where condition `number` (a constant) holds, else 0, in 64 bits."""
    which, negated = divmod(number.concrete_value, 2)
    holds = _CONDITIONS[which](_flags(state, operation, *operands))
    return (holds ^ negated).zero_extend(_WIDTH - 1)


def _carry(state: Any, operation: Any, *operands: Any) -> Any:
    """The carry flag in 64 bits."""
    return _flags(state, operation, *operands)["c"].zero_extend(_WIDTH - 1)


def _undefined(code: bytes) -> int:
    """The flags that an instruction leaves undefined, as bits."""
    return sum(1 << _BITS[name[0]] for name in undefined_flags(code))


FLAGS = FlagThunk(
    "cc_op",
    ("cc_dep1", "cc_dep2", "cc_ndep"),
    "amd64g_calculate_rflags_all",
    _COPIED,
    _undefined,
)

HELPERS: Mapping[str, Callable[..., Any]] = {
    "amd64g_calculate_condition": _condition,
    "amd64g_calculate_rflags_c": _carry,
}

__all__ = ["FLAGS", "HELPERS", "alignment"]
