"""RISC-V instructions that VEX does not decode, or takes for none.

Manual: "The RISC-V Instruction Set Manual, Volume I: Unprivileged Architecture", section "Load and
Store Instructions", chapter "B" (bit manipulation, extension Zbb), and chapter "Control-flow
Integrity" (extension Zicfiss). A load into x0 still accesses memory; VEX drops it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.machine import Machine, Unsupported
from verify.lift.semantics import Encoded, Meaning, Semantics

IGNORED_IN_TARGET = 1
"""Of the target of JALR: the manual, "Unconditional Jumps"."""

_FIRST_REGISTER = "zero"
_REGISTER_BYTES = 8

NAMES = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{n}" for n in range(8)),
    *(f"s{n}" for n in range(2, 12)),
    *(f"t{n}" for n in range(3, 7)),
)
"""The names of the registers x0 to x31."""

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


def _three_registers(word: int) -> str:
    return ", ".join(NAMES[word >> at & 31] for at in (7, 15, 20))


def _two_registers(bits: int) -> Callable[[int], str]:
    """rd, rs1 and an immediate of that many bits."""

    def operands(word: int) -> str:
        names = [NAMES[word >> at & 31] for at in (7, 15)]
        return ", ".join((*names, f"{word >> 20 & ((1 << bits) - 1):#x}"))

    return operands


_REGISTER, _IMMEDIATE, _IMMEDIATE_WORD = 0xFE00_707F, 0xFC00_707F, 0xFE00_707F


def _load(size: int) -> Meaning:
    """x0 = `size` bytes at rs1 (bits 19..15) plus the signed immediate (bits 31..20)."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        offset = (word >> 20 ^ 0x800) - 0x800
        machine.load(_get(machine, layout, word >> 15 & 31) + offset, size, little=True)

    return run


def _address(word: int) -> str:
    offset = (word >> 20 ^ 0x800) - 0x800
    return f"{NAMES[0]}, {offset:#x}({NAMES[word >> 15 & 31]})"


_Row = tuple[str, int, int, Meaning, Callable[[int], str]]


def _registers(mnemonic: str, value: int, compute: Compute) -> _Row:
    return mnemonic, _REGISTER, value, _register(compute), _three_registers


def _amounts(mnemonic: str, mask: int, value: int, bits: int) -> _Row:
    compute = _rotate(left=False, width=1 << bits)
    return mnemonic, mask, value, _immediate(compute, bits), _two_registers(bits)


_ZBB: tuple[_Row, ...] = (
    _registers("rol", 0x6000_1033, _rotate(left=True, width=64)),
    _registers("ror", 0x6000_5033, _rotate(left=False, width=64)),
    _registers("rolw", 0x6000_103B, _rotate(left=True, width=32)),
    _registers("rorw", 0x6000_503B, _rotate(left=False, width=32)),
    _amounts("rori", _IMMEDIATE, 0x6000_5013, 6),
    _amounts("roriw", _IMMEDIATE_WORD, 0x6000_501B, 5),
    _registers("andn", 0x4000_7033, lambda a, b: a & ~b),
    _registers("orn", 0x4000_6033, lambda a, b: a | ~b),
    _registers("xnor", 0x4000_4033, lambda a, b: ~(a ^ b)),
)
_ZICFISS: tuple[_Row, ...] = (
    ("sspush", 0xFFFF_FFFF, 0xCE10_4073, _shadow_stack, lambda _: "ra"),
    ("sspush", 0xFFFF_FFFF, 0xCE50_4073, _shadow_stack, lambda _: "t0"),
    ("sspopchk", 0xFFFF_FFFF, 0xCDC0_C073, _shadow_stack, lambda _: "ra"),
    ("sspopchk", 0xFFFF_FFFF, 0xCDC2_C073, _shadow_stack, lambda _: "t0"),
)

_LOADS = {"lb": 1, "lh": 2, "lw": 4, "ld": 8, "lbu": 1, "lhu": 2, "lwu": 4}
"""Sizes in bytes, in the order of funct3."""

_LOADS_INTO_X0: tuple[_Row, ...] = tuple(
    (mnemonic, 0x0000_7FFF, funct3 << 12 | 0x03, _load(size), _address)
    for funct3, (mnemonic, size) in enumerate(_LOADS.items())
)

ENCODED = tuple(
    Encoded(mask, value, Semantics(mnemonic, run, f"RISC-V Vol. I, {part}", ""), operands)
    for part, table in (("RV64I", _LOADS_INTO_X0), ("Zbb", _ZBB), ("Zicfiss", _ZICFISS))
    for mnemonic, mask, value, run, operands in table
)
