"""What is particular to AArch64 under VEX: its flags, data that are big-endian, and loads into the
zero register.

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

from verify.lift.engine import Layout
from verify.lift.flags import FlagThunk
from verify.lift.machine import Machine, Unsupported
from verify.lift.semantics import Encoded, Semantics

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


def _bits(word: int, low: int, width: int = 1) -> int:
    return word >> low & (1 << width) - 1


def element_bytes(word: int, size: int) -> int | None:
    """The size in bytes of the elements of an access of `size` bytes; None where it is not known.

    Arm Architecture Reference Manual for A-profile, "Endianness in SIMD operations": the loads and
    stores of structures access one element of a vector after the other, all others a register as a
    whole. The groups of instructions are those of "A64 Instruction Set Encoding", "Loads and
    Stores".
    """
    if _bits(word, 25, 7) & 0x5F == 0x06:
        return _structure_element(word)
    return size if size == _transferred(word) else None


def _structure_element(word: int) -> int:
    """The size in bytes of an element of "Advanced SIMD load/store multiple/single structures"."""
    size, scale = _bits(word, 10, 2), _bits(word, 14, 2)
    if not _bits(word, 24) or scale == 3:  # multiple structures, or one that is replicated
        return 1 << size
    return 8 if scale == 2 and _bits(word, 10) else 1 << scale


def _transferred(word: int) -> int | None:
    """How many bytes go to or from a register, None where that is not known."""
    opcode, vector, group = _bits(word, 30, 2), _bits(word, 26), _bits(word, 27, 3)
    kind = _bits(word, 24, 2)
    if group == 0b101 and kind < 2:  # "Load/store register pair"
        return 4 << opcode if vector else 8 if opcode == 2 else 4
    if group == 0b011 and kind == 0:  # "Load register (literal)"
        return 4 << opcode if vector else 8 if opcode == 1 else 4
    offset = not _bits(word, 21) or _bits(word, 10, 2) == 2
    if group == 0b111 and (kind == 1 or (kind == 0 and offset)):  # "Load/store register (...)"
        return 16 if vector and not opcode and _bits(word, 23) else 1 << opcode
    return None


_POST_INDEX, _PRE_INDEX = 1, 3
_ZERO = 31
"""The number of xzr as an operand, and of sp as a base."""
_LOADS = {
    (0, 1): "ldrb",
    (0, 2): "ldrsb",
    (0, 3): "ldrsb",
    (1, 1): "ldrh",
    (1, 2): "ldrsh",
    (1, 3): "ldrsh",
    (2, 1): "ldr",
    (2, 2): "ldrsw",
    (3, 1): "ldr",
}
"""Mnemonics by size, as a power of 2, and opc."""


def _general(machine: Machine, layout: Layout, name: str) -> Any:
    return machine.get(*layout.registers[name])


def _offset(machine: Machine, layout: Layout, word: int) -> Any:
    """What "Load/store register (register offset)" adds to the base: Rm, extended and shifted."""
    number, option = _bits(word, 16, 5), _bits(word, 13, 3)
    zero = claripy.BVV(0, _WIDTH)
    value = zero if number == _ZERO else _general(machine, layout, f"x{number}")
    if not option & 1:
        half = value[31:0]
        value = half.sign_extend(32) if option & 4 else half.zero_extend(32)
    return value << (_bits(word, 30, 2) if _bits(word, 12) else 0)


def _load_into_zero(machine: Machine, layout: Layout, word: int) -> None:
    """A load of a general register whose destination is xzr or wzr."""
    size, number = 1 << _bits(word, 30, 2), _bits(word, 5, 5)
    name = "xsp" if number == _ZERO else f"x{number}"
    base = _general(machine, layout, name)
    if _bits(word, 24):
        machine.load(base + size * _bits(word, 10, 12), size, machine.little)
        return
    if _bits(word, 21):
        machine.load(base + _offset(machine, layout, word), size, machine.little)
        return
    moved = base + (_bits(word, 12, 9) ^ 0x100) - 0x100
    kind = _bits(word, 10, 2)
    machine.load(base if kind == _POST_INDEX else moved, size, machine.little)
    if kind in {_POST_INDEX, _PRE_INDEX}:
        machine.put(layout.registers[name][0], moved)


_ADDRESSING = {
    "unsigned immediate": (0x3F00_0000, 0x3900_0000),
    "unscaled immediate": (0x3F20_0C00, 0x3800_0000),
    "immediate post-indexed": (0x3F20_0C00, 0x3800_0400),
    "unprivileged": (0x3F20_0C00, 0x3800_0800),
    "immediate pre-indexed": (0x3F20_0C00, 0x3800_0C00),
    "register offset": (0x3F20_4C00, 0x3820_4800),
}


def _refuse_to_clear(machine: Machine, _layout: Layout, _word: int) -> None:
    raise Unsupported(machine.instruction, "dc zva clears as many bytes as DCZID_EL0 says")


_CLEAR = Encoded(
    0xFFFF_FFE0,
    0xD50B_7420,
    Semantics("dc zva", _refuse_to_clear, "A64 System instructions, DC ZVA", ""),
)

_LOADS_INTO_ZERO = tuple(
    Encoded(
        mask | 0xC0C0_001F,
        value | size << 30 | opc << 22 | _ZERO,
        Semantics(
            mnemonic,
            _load_into_zero,
            f"A64 Instruction Set Encoding, Load/store register ({addressing})",
            "",
        ),
    )
    for addressing, (mask, value) in _ADDRESSING.items()
    for (size, opc), mnemonic in _LOADS.items()
)
"""Loads into the zero register, which still access memory: VEX drops most of them."""

ENCODED = (_CLEAR, *_LOADS_INTO_ZERO)
