"""LoongArch instructions whose SLEIGH (pypcode 4.0.1) differs from the manual.

Manual: "LoongArch Reference Manual, Volume 1: Basic Architecture", version 1.10. The faults are
in the public report NationalSecurityAgency/ghidra#9434: rotates shift arithmetically instead of
logically, 64-bit shifts by a constant mask the amount to 5 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.machine import Machine
from verify.lift.semantics import Meaning, Semantics

_REPORT = "NationalSecurityAgency/ghidra#9434"
_FIRST_REGISTER = "zero"


def _offset(layout: Layout, number: int) -> int:
    first, size = layout.registers[_FIRST_REGISTER]
    return first + size * number


def _get(machine: Machine, layout: Layout, number: int) -> Any:
    return machine.get(_offset(layout, number), 8)


def _immediate(compute: Callable[[Any, int], Any], bits: int) -> Meaning:
    """rd (bits 4..0) = compute(rj (bits 9..5), the `bits`-bit unsigned field at bit 10)."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        amount = (word >> 10) & ((1 << bits) - 1)
        value = compute(_get(machine, layout, (word >> 5) & 31), amount)
        machine.put(_offset(layout, word & 31), value)

    return run


def _register(compute: Callable[[Any, Any], Any]) -> Meaning:
    """rd (bits 4..0) = compute(rj (bits 9..5), rk (bits 14..10))."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        left = _get(machine, layout, (word >> 5) & 31)
        right = _get(machine, layout, (word >> 10) & 31)
        machine.put(_offset(layout, word & 31), compute(left, right))

    return run


def _rotate_right(value: Any, amount: Any) -> Any:
    """`value` rotated right by `amount` modulo its width in bits."""
    width = value.size()
    by = amount & (width - 1)
    return claripy.LShR(value, by) | (value << ((width - by) & (width - 1)))


def _word(value: Any) -> Any:
    return value[31:0].sign_extend(32)


def _by(amount: int, width: int) -> Any:
    return claripy.BVV(amount, width)


_TABLE: dict[str, tuple[Meaning, str]] = {
    "rotr.w": (
        _register(lambda a, b: _word(_rotate_right(a[31:0], b[31:0]))),
        "2.2.2.3",
    ),
    "rotr.d": (_register(_rotate_right), "2.2.2.3"),
    "rotri.w": (
        _immediate(lambda a, n: _word(claripy.RotateRight(a[31:0], _by(n, 32))), 5),
        "2.2.2.4",
    ),
    "rotri.d": (_immediate(lambda a, n: claripy.RotateRight(a, _by(n, 64)), 6), "2.2.2.4"),
    "slli.d": (_immediate(lambda a, n: a << n, 6), "2.2.2.2"),
    "srli.d": (_immediate(lambda a, n: claripy.LShR(a, _by(n, 64)), 6), "2.2.2.2"),
    "srai.d": (_immediate(lambda a, n: a >> n, 6), "2.2.2.2"),
}

SEMANTICS = {
    mnemonic: Semantics(mnemonic, run, f"LoongArch Vol. 1, section {section}", _REPORT)
    for mnemonic, (run, section) in _TABLE.items()
}
