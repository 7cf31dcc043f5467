"""RISC-V instructions that VEX does not decode.

Manual: "The RISC-V Instruction Set Manual, Volume I: Unprivileged Architecture", chapter "B"
(bit manipulation, extension Zbb), and chapter "Control-flow Integrity" (extension Zicfiss).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.machine import Machine, Unsupported
from verify.lift.semantics import Encoded, Meaning, Semantics

_FIRST_REGISTER = "zero"
_REGISTER_BYTES = 8

Compute = Callable[[Any, Any], Any]


def _offset(layout: Layout, number: int) -> int:
    return layout.registers[_FIRST_REGISTER][0] + _REGISTER_BYTES * number


def _get(machine: Machine, layout: Layout, number: int) -> Any:
    return machine.get(_offset(layout, number), _REGISTER_BYTES)


def _register(compute: Compute) -> Meaning:
    """rd (bits 11..7) = compute(rs1 (bits 19..15), rs2 (bits 24..20))."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        left, right = (_get(machine, layout, word >> at & 31) for at in (15, 20))
        machine.put(_offset(layout, word >> 7 & 31), compute(left, right))

    return run


def _immediate(compute: Compute, bits: int) -> Meaning:
    """rd (bits 11..7) = compute(rs1 (bits 19..15), the unsigned field of `bits` bits at bit 20)."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        left = _get(machine, layout, word >> 15 & 31)
        amount = claripy.BVV(word >> 20 & ((1 << bits) - 1), left.size())
        machine.put(_offset(layout, word >> 7 & 31), compute(left, amount))

    return run


def _rotate(*, left: bool, width: int) -> Compute:
    """The low `width` bits rotated by the amount modulo `width`, sign-extended."""

    def compute(value: Any, amount: Any) -> Any:
        part, by = value[width - 1 : 0], amount[width - 1 : 0] & (width - 1)
        back = (width - by) & (width - 1)
        forth, behind = (by, back) if left else (back, by)
        return ((part << forth) | claripy.LShR(part, behind)).sign_extend(value.size() - width)

    return compute


def _shadow_stack(machine: Machine, _layout: Layout, _word: int) -> None:
    raise Unsupported(machine.instruction, "the shadow stack is not modelled")


_REGISTER, _IMMEDIATE, _IMMEDIATE_WORD = 0xFE00_707F, 0xFC00_707F, 0xFE00_707F

_ZBB: tuple[tuple[str, int, int, Meaning], ...] = (
    ("rol", _REGISTER, 0x6000_1033, _register(_rotate(left=True, width=64))),
    ("ror", _REGISTER, 0x6000_5033, _register(_rotate(left=False, width=64))),
    ("rolw", _REGISTER, 0x6000_103B, _register(_rotate(left=True, width=32))),
    ("rorw", _REGISTER, 0x6000_503B, _register(_rotate(left=False, width=32))),
    ("rori", _IMMEDIATE, 0x6000_5013, _immediate(_rotate(left=False, width=64), 6)),
    ("roriw", _IMMEDIATE_WORD, 0x6000_501B, _immediate(_rotate(left=False, width=32), 5)),
    ("andn", _REGISTER, 0x4000_7033, _register(lambda a, b: a & ~b)),
    ("orn", _REGISTER, 0x4000_6033, _register(lambda a, b: a | ~b)),
    ("xnor", _REGISTER, 0x4000_4033, _register(lambda a, b: ~(a ^ b))),
)
_ZICFISS: tuple[tuple[str, int, int, Meaning], ...] = (
    ("sspush", 0xFFFF_FFFF, 0xCE10_4073, _shadow_stack),
    ("sspush", 0xFFFF_FFFF, 0xCE50_4073, _shadow_stack),
    ("sspopchk", 0xFFFF_FFFF, 0xCDC0_C073, _shadow_stack),
    ("sspopchk", 0xFFFF_FFFF, 0xCDC2_C073, _shadow_stack),
)

ENCODED = tuple(
    Encoded(mask, value, Semantics(mnemonic, run, f"RISC-V Vol. I, {extension}", ""))
    for extension, table in (("Zbb", _ZBB), ("Zicfiss", _ZICFISS))
    for mnemonic, mask, value, run in table
)
