"""What is particular to s390x under VEX: the condition code, and lanes that are counted from the
most significant one.

VEX's `libvex_guest_s390x.h` gives the places of the thunk and of the floating-point control, its
`guest_s390_defs.h` the operations: the operands are extended to 64 bits, and of an addition with
carry or a subtraction with borrow the second one comes combined with the carry or borrow by
exclusive or. The condition codes are those of the z/Architecture Principles of Operation, chapter
7. Operations of the thunk that are not listed raise, so that an instruction that sets the
condition code in another way is not executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.flags import FlagThunk
from verify.lift.machine import Machine
from verify.lift.semantics import Encoded, Semantics
from verify.lift.semantics.vex import concat, lanes

_WIDTH = 64
_RESULT = 32
_SET = 35
_ONE_BIT = 63
"""TEST UNDER MASK with a mask of one bit: the first operand is that bit."""

REGISTERS: Mapping[str, tuple[int, int]] = {
    "fpc": (712, 4),
    "cc_op": (736, 8),
    "cc_dep1": (744, 8),
    "cc_dep2": (752, 8),
    "cc_ndep": (760, 8),
}
UNDEFINED_BESIDE_FLOATS = tuple(f"v{n}" for n in range(16))
"""Chapter 21, "Vector Overview and Support Instructions": an instruction that is no vector
instruction and writes a floating-point register leaves bits 64 to 127 of the vector register
unpredictable."""
FLAGS = FlagThunk("cc_op", ("cc_dep1", "cc_dep2", "cc_ndep"), "settled", _SET)

Code = Callable[[Any, Any, Any], Any]
"""A condition code in 2 bits from the three operands of the thunk."""


def _code(value: int) -> Any:
    return claripy.BVV(value, 2)


def _bits(high: Any, low: Any) -> Any:
    """A condition code from two conditions."""
    return claripy.Concat(
        *(claripy.If(c, claripy.BVV(1, 1), claripy.BVV(0, 1)) for c in (high, low))
    )


def _compared(equal: Any, less: Any) -> Any:
    return claripy.If(equal, _code(0), claripy.If(less, _code(1), _code(2)))


def _signed_result(width: int, *, subtract: bool) -> Code:
    """Zero, negative, positive, overflow."""

    def run(left: Any, right: Any, _: Any) -> Any:
        a, b = (operand[width - 1 : 0].sign_extend(1) for operand in (left, right))
        exact = a - b if subtract else a + b
        result = exact[width - 1 : 0]
        overflow = exact[width:width] != exact[width - 1 : width - 1]
        return claripy.If(overflow, _code(3), _compared(result == 0, result.SLT(0)))

    return run


def _unsigned_result(width: int, *, subtract: bool, carry: bool) -> Code:
    """The higher bit is the carry out, or that there is no borrow; the lower one that the result is
    not zero."""

    def run(left: Any, right: Any, carried: Any) -> Any:
        right = right ^ carried if carry else right
        a, b, c = (operand[width - 1 : 0].zero_extend(1) for operand in (left, right, carried))
        exact = a - b if subtract else a + b
        if carry:
            exact = exact - c if subtract else exact + c
        carried_out = exact[width:width] == int(not subtract)
        return _bits(carried_out, exact[width - 1 : 0] != 0)

    return run


_CODES: Mapping[int, Code] = {
    0: lambda a, _b, _c: _bits(claripy.false(), a != 0),
    1: lambda a, b, _c: _compared(a == b, a.SLT(b)),
    2: lambda a, b, _c: _compared(a == b, a.ULT(b)),
    3: _signed_result(32, subtract=False),
    4: _signed_result(64, subtract=False),
    5: _unsigned_result(32, subtract=False, carry=False),
    6: _unsigned_result(64, subtract=False, carry=False),
    7: _unsigned_result(32, subtract=False, carry=True),
    8: _unsigned_result(64, subtract=False, carry=True),
    9: _signed_result(32, subtract=True),
    10: _signed_result(64, subtract=True),
    11: _unsigned_result(32, subtract=True, carry=False),
    12: _unsigned_result(64, subtract=True, carry=False),
    13: _unsigned_result(32, subtract=True, carry=True),
    14: _unsigned_result(64, subtract=True, carry=True),
    15: lambda a, _b, _c: _compared(a == 0, a.SLT(0)),
    _ONE_BIT: lambda a, _b, _c: claripy.If(a == 0, _code(0), _code(3)),
    _SET: lambda a, _b, _c: a[1:0],
}


def _condition_code(width: int, _state: Any, operation: Any, *operands: Any) -> Any:
    """The condition code, in `width` bits."""
    return _CODES[operation.concrete_value](*operands).zero_extend(width - 2)


def _condition(_state: Any, mask: Any, operation: Any, *operands: Any) -> Any:
    """8 where the constant mask, whose bit 3 is for condition code 0, has the bit of the condition
    code, else 0, in 32 bits."""
    code = _CODES[operation.concrete_value](*operands)
    chosen = [code == n for n in range(4) if mask.concrete_value & 8 >> n]
    return claripy.If(
        claripy.Or(claripy.false(), *chosen), *(claripy.BVV(n, _RESULT) for n in (8, 0))
    )


HELPERS: Mapping[str, Callable[..., Any]] = {
    "settled": partial(_condition_code, _WIDTH),
    "s390_calculate_cc": partial(_condition_code, _RESULT),
    "s390_calculate_cond": _condition,
}


def _get_lane(width: int) -> Callable[[Any, Any], Any]:
    """`Iop_GetElem`: the lane of a constant number."""
    return lambda value, number: lanes(value, width)[number.concrete_value]


def _set_lane(width: int) -> Callable[[Any, Any, Any], Any]:
    """`Iop_SetElem`: the vector with the lane of a constant number replaced."""

    def run(value: Any, number: Any, new: Any) -> Any:
        parts = lanes(value, width)
        parts[number.concrete_value] = new
        return concat(parts)

    return run


def _rotate_lanes(width: int) -> Callable[[Any, Any], Any]:
    """`Iop_Rol`: each lane rotated left by the same lane of the second vector, modulo its width."""

    def run(value: Any, amounts: Any) -> Any:
        pairs = zip(lanes(value, width), lanes(amounts, width), strict=True)
        return concat([claripy.RotateLeft(lane, by & width - 1) for lane, by in pairs])

    return run


def _shift_lanes(width: int, shift: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`Iop_Shl`, `Iop_Shr`, `Iop_Sar`, `Iop_ShlN`, ...: each lane shifted by the same lane of the
    second operand, or by all of it where that is one number, modulo its width."""

    def run(value: Any, amounts: Any) -> Any:
        parts = lanes(value, width)
        if amounts.size() == value.size():
            by = lanes(amounts, width)
        else:
            by = [amounts.zero_extend(width - amounts.size())] * len(parts)
        mask = width - 1
        return concat([shift(lane, amount & mask) for lane, amount in zip(parts, by, strict=True)])

    return run


_SHIFTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Shl": lambda lane, by: lane << by,
    "Shr": claripy.LShR,
    "Sar": lambda lane, by: lane >> by,
}


def _narrow_lanes(width: int) -> Callable[[Any, Any], Any]:
    """`Iop_NarrowBin`: the less significant half of each lane of both vectors."""

    def run(first: Any, second: Any) -> Any:
        parts = (*lanes(first, width), *lanes(second, width))
        return concat([lane[width // 2 - 1 : 0] for lane in parts])

    return run


def _permute(first: Any, second: Any, numbers: Any) -> Any:
    """`Iop_Perm8x16x2`: the bytes of both vectors, numbered from the most significant of the first,
    chosen by the low five bits of the third vector's bytes."""
    source = [*lanes(first, 8), *lanes(second, 8)]
    chosen = []
    for number in lanes(numbers, 8):
        byte = source[0]
        for place, candidate in enumerate(source):
            byte = claripy.If(number & 31 == place, candidate, byte)
        chosen.append(byte)
    return concat(chosen)


def _permute_one(value: Any, numbers: Any) -> Any:
    """`Iop_Perm8x16`: the same of one vector, with the low four bits; higher ones are zero."""
    return _permute(value, value, numbers)


_LANES = ((8, 16), (16, 8), (32, 4), (64, 2))
OPERATIONS: Mapping[str, Callable[..., Any]] = {
    **{f"Iop_GetElem{width}x{count}": _get_lane(width) for width, count in _LANES},
    **{f"Iop_SetElem{width}x{count}": _set_lane(width) for width, count in _LANES},
    **{f"Iop_Rol{width}x{count}": _rotate_lanes(width) for width, count in _LANES},
    **{
        f"Iop_{name}{suffix}{width}x{count}": _shift_lanes(width, shift)
        for name, shift in _SHIFTS.items()
        for suffix in ("", "N")
        for width, count in _LANES
    },
    **{
        f"Iop_NarrowBin{width}to{width // 2}x{2 * count}": _narrow_lanes(width)
        for width, count in _LANES[1:]
    },
    "Iop_Perm8x16": _permute_one,
    "Iop_Perm8x16x2": _permute,
}


_MVC = 0xD2 << 40
_MVC_MASK = 0xFF << 40


def _move(machine: Machine, layout: Layout, word: int) -> None:
    """MOVE (MVC): one byte after the other, from the left, each stored before the next is read."""
    to, source = (_effective(machine, layout, word >> low) for low in (16, 0))
    for offset in range((word >> 32 & 0xFF) + 1):
        byte = machine.load(source + offset, 1, machine.little)
        machine.store(to + offset, byte, machine.little)


def _effective(machine: Machine, layout: Layout, field: int) -> Any:
    """The address that the base and the displacement in the lowest 16 bits of a number make."""
    base, displacement = field >> 12 & 15, field & 0xFFF
    register = machine.get(*layout.registers[f"r{base}"]) if base else claripy.BVV(0, _WIDTH)
    return register + displacement


def _moved(word: int) -> str:
    to, source = word >> 16 & 0xFFFF, word & 0xFFFF
    length = (word >> 32 & 0xFF) + 1
    return f"{to & 0xFFF}({length},%r{to >> 12}), {source & 0xFFF}(%r{source >> 12})"


ENCODED = (
    Encoded(
        _MVC_MASK,
        _MVC,
        Semantics("mvc", _move, "z/Architecture Principles of Operation, MOVE (MVC)", ""),
        _moved,
        size=6,
    ),
)
"""VEX moves byte by byte by jumping back to the instruction, with a counter that is no register."""


_HINTED = {0x06: "vl", 0x0E: "vst", 0x36: "vlm", 0x3E: "vstm"}
_NUMBERED = {
    0x01: "vlebrh",
    0x02: "vlebrg",
    0x03: "vlebrf",
    0x09: "vstebrh",
    0x0A: "vstebrg",
    0x0B: "vstebrf",
}
_SIZED = {
    0x04: "vllebrz",
    0x05: "vlbrrep",
    0x06: "vlbr",
    0x07: "vler",
    0x0E: "vstbr",
    0x0F: "vster",
}
_SIZES = {1: "h", 2: "f", 3: "g", 4: "q"}


def text_of(code: bytes) -> str:
    """Vector loads and stores that capstone does not know, as assembly: those with a hint of the
    alignment, and the byte-reversing ones of z15. Empty for other instructions.

    z/Architecture Principles of Operation, chapter 21.
    """
    if len(code) != 6:
        return ""
    word, kind, second = int.from_bytes(code, "big"), code[0], code[5]
    register, index = word >> 36 & 15 | (word >> 11 & 1) << 4, word >> 32 & 15
    last = index | (word >> 10 & 1) << 4
    number = word >> 12 & 15
    address = _address(word, 0 if second in (0x36, 0x3E) else index)
    if kind == 0xE7 and second in _HINTED:
        end = f" %v{last}," if second in (0x36, 0x3E) else ""
        return f"{_HINTED[second]} %v{register},{end} {address}, {number}"
    if kind == 0xE6 and second in _NUMBERED:
        return f"{_NUMBERED[second]} %v{register}, {address}, {number}"
    if kind == 0xE6 and second in _SIZED and number in _SIZES:
        return f"{_SIZED[second]}{_SIZES[number]} %v{register}, {address}"
    return ""


def _address(word: int, index: int) -> str:
    base, displacement = word >> 28 & 15, word >> 16 & 0xFFF
    registers = ", ".join(f"%r{n}" for n in (index, base) if n)
    shown = f"{displacement:#x}" if displacement > 9 else str(displacement)
    return f"{shown}({registers})" if registers else shown
