"""LoongArch's basic instructions whose SLEIGH (pypcode 4.0.1) differs from the manual.

Manual: "LoongArch Reference Manual, Volume 1: Basic Architecture", version 1.10. The faults are
in the public report NationalSecurityAgency/ghidra#9434: rotates shift arithmetically instead of
logically, 64-bit shifts by a constant mask the amount to 5 bits, bit fields are inserted and
halfwords reversed wrongly. Beyond it, `bytepick` takes the bytes from the wrong ends, the
multiplications read a temporary that they never set, divisions by zero give what the manual does
not promise, `movcf2gr` spreads the flag over the register, conditional stores return their address,
and moves of a single-precision number or flag to a floating-point register also set what the manual
leaves undefined above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.machine import Machine, Unsupported
from verify.lift.semantics import Meaning, Semantics

_REPORT = "NationalSecurityAgency/ghidra#9434"
_FIRST_REGISTER = "zero"


def register_offset(layout: Layout, number: int) -> int:
    """Where the lifter keeps a general register."""
    first, size = layout.registers[_FIRST_REGISTER]
    return first + size * number


def read_register(machine: Machine, layout: Layout, number: int) -> Any:
    """A general register's 64 bits."""
    return machine.get(register_offset(layout, number), 8)


def _immediate(compute: Callable[[Any, int], Any], bits: int) -> Meaning:
    """rd (bits 4..0) = compute(rj (bits 9..5), the `bits`-bit unsigned field at bit 10)."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        amount = (word >> 10) & ((1 << bits) - 1)
        value = compute(read_register(machine, layout, (word >> 5) & 31), amount)
        machine.put(register_offset(layout, word & 31), value)

    return run


def _register(compute: Callable[[Any, Any], Any]) -> Meaning:
    """rd (bits 4..0) = compute(rj (bits 9..5), rk (bits 14..10))."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        left = read_register(machine, layout, (word >> 5) & 31)
        right = read_register(machine, layout, (word >> 10) & 31)
        machine.put(register_offset(layout, word & 31), compute(left, right))

    return run


def _insert(bits: int) -> Meaning:
    """rd with bits msb..lsb replaced by the lowest bits of rj; a word (5 bits) is sign-extended.

    msb is the `bits`-bit field at bit 16, lsb that at bit 10.
    """

    def run(machine: Machine, layout: Layout, word: int) -> None:
        width, mask = 1 << bits, (1 << bits) - 1
        high, low = word >> 16 & mask, word >> 10 & mask
        old = read_register(machine, layout, word & 31)
        parts = [read_register(machine, layout, (word >> 5) & 31)[high - low : 0]]
        if high < width - 1:
            parts.insert(0, old[width - 1 : high + 1])
        if low:
            parts.append(old[low - 1 : 0])
        value = parts[0] if len(parts) == 1 else claripy.Concat(*parts)
        machine.put(register_offset(layout, word & 31), value.sign_extend(64 - width))

    return run


def _pick_bytes(size: int) -> Meaning:
    """`size` bytes of rk followed by rj, leaving out the `sa` most significant ones of rk.

    sa is the field of log2(size) bits at bit 15; a word (4 bytes) is sign-extended.
    """

    def run(machine: Machine, layout: Layout, word: int) -> None:
        width = 8 * size
        upper = read_register(machine, layout, (word >> 10) & 31)[width - 1 : 0]
        lower = read_register(machine, layout, (word >> 5) & 31)[width - 1 : 0]
        first = 2 * width - 8 * (word >> 15 & (size - 1))
        value = upper.concat(lower)[first - 1 : first - width]
        machine.put(register_offset(layout, word & 31), value.sign_extend(64 - width))

    return run


def _reverse_halfwords(width: int) -> Meaning:
    """rd = rj with the halfwords of each `width` bits in the opposite order."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        value = read_register(machine, layout, (word >> 5) & 31)
        parts = [
            value[half + 15 : half]
            for low in range(64 - width, -1, -width)
            for half in range(low, low + width, 16)
        ]
        machine.put(register_offset(layout, word & 31), claripy.Concat(*parts))

    return run


def _multiply(width: int, *, signed: bool, high: bool) -> Meaning:
    """The upper or lower half of the product of two numbers of `width` bits, sign-extended."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        factors = [read_register(machine, layout, word >> at & 31)[width - 1 : 0] for at in (5, 10)]
        machine.slow(factors)
        left, right = (
            value.sign_extend(width) if signed else value.zero_extend(width) for value in factors
        )
        low = width if high else 0
        product = (left * right)[low + width - 1 : low]
        machine.put(register_offset(layout, word & 31), product.sign_extend(64 - width))

    return run


def _divide(width: int, *, signed: bool, remainder: bool) -> Meaning:
    """The quotient, rounded towards zero, or the remainder of `width` bits, sign-extended.

    Undefined are the result where the divisor is zero, and that of words where a register holds
    more than a sign-extended word. The least number divided by -1 is itself.
    """

    def run(machine: Machine, layout: Layout, word: int) -> None:
        whole = [read_register(machine, layout, word >> at & 31) for at in (5, 10)]
        machine.slow(whole)
        dividend, divisor = (value[width - 1 : 0] for value in whole)
        negative = [signed and value[width - 1] == 1 for value in (dividend, divisor)]
        magnitudes = [
            claripy.If(below, -value, value) if signed else value
            for below, value in zip(negative, (dividend, divisor), strict=True)
        ]
        zero = divisor == 0
        safe = claripy.If(zero, claripy.BVV(1, width), magnitudes[1])
        result = magnitudes[0] % safe if remainder else magnitudes[0] // safe
        if signed:
            turned = negative[0] if remainder else negative[0] != negative[1]
            result = claripy.If(turned, -result, result)
        meaningless = claripy.Or(
            zero, *(value != value[width - 1 : 0].sign_extend(64 - width) for value in whole)
        )
        machine.put(
            register_offset(layout, word & 31),
            claripy.If(meaningless, machine.undefined(8), result.sign_extend(64 - width)),
        )

    return run


def _condition_to_general(machine: Machine, layout: Layout, word: int) -> None:
    """rd = the condition flag cj, zero or one."""
    offset, size = layout.registers[f"fcc{word >> 5 & 7}"]
    flag = machine.get(offset, size)[0]
    machine.put(register_offset(layout, word & 31), flag.zero_extend(63))


def _refused(reason: str) -> Meaning:
    """No meaning: what the lifter says is wrong, and the right one is not to be told from here."""

    def run(machine: Machine, _layout: Layout, _word: int) -> None:
        raise Unsupported(machine.instruction, reason)

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


_CONDITIONAL = "a conditional store depends on what other processors do"
_UNDEFINED_ABOVE = "what is above the value in a floating-point register is undefined"

_TABLE: dict[str, tuple[Meaning, str]] = {
    "rotr.w": (
        _register(lambda a, b: _word(_rotate_right(a[31:0], b[31:0]))),
        "2.2.2.1",
    ),
    "rotr.d": (_register(_rotate_right), "2.2.2.3"),
    "rotri.w": (
        _immediate(lambda a, n: _word(claripy.RotateRight(a[31:0], _by(n, 32))), 5),
        "2.2.2.2",
    ),
    "rotri.d": (_immediate(lambda a, n: claripy.RotateRight(a, _by(n, 64)), 6), "2.2.2.4"),
    "slli.d": (_immediate(lambda a, n: a << n, 6), "2.2.2.4"),
    "srli.d": (_immediate(lambda a, n: claripy.LShR(a, _by(n, 64)), 6), "2.2.2.4"),
    "srai.d": (_immediate(lambda a, n: a >> n, 6), "2.2.2.4"),
    "bstrins.w": (_insert(5), "2.2.3.8"),
    "bstrins.d": (_insert(6), "2.2.3.8"),
    "bytepick.w": (_pick_bytes(4), "2.2.3.3"),
    "bytepick.d": (_pick_bytes(8), "2.2.3.3"),
    "revh.2w": (_reverse_halfwords(32), "2.2.3.5"),
    "revh.d": (_reverse_halfwords(64), "2.2.3.5"),
    "mul.w": (_multiply(32, signed=True, high=False), "2.2.1.11"),
    "mulh.w": (_multiply(32, signed=True, high=True), "2.2.1.11"),
    "mulh.wu": (_multiply(32, signed=False, high=True), "2.2.1.11"),
    "mul.d": (_multiply(64, signed=True, high=False), "2.2.1.11"),
    "mulh.d": (_multiply(64, signed=True, high=True), "2.2.1.11"),
    "mulh.du": (_multiply(64, signed=False, high=True), "2.2.1.11"),
    **{
        f"{name}.{suffix}": (_divide(width, signed=signed, remainder=name == "mod"), "2.2.1.13")
        for name in ("div", "mod")
        for suffix, width, signed in (
            ("w", 32, True),
            ("wu", 32, False),
            ("d", 64, True),
            ("du", 64, False),
        )
    },
    "sc.w": (_refused(_CONDITIONAL), "2.2.7.2"),
    "sc.d": (_refused(_CONDITIONAL), "2.2.7.2"),
    "movcf2gr": (_condition_to_general, "3.2.4.7"),
    "movcf2fr": (_refused(_UNDEFINED_ABOVE), "3.2.4.6"),
    "fld.s": (_refused(_UNDEFINED_ABOVE), "3.1.2.1"),
    "fldx.s": (_refused(_UNDEFINED_ABOVE), "3.1.2.1"),
    "fmov.s": (_refused(_UNDEFINED_ABOVE), "3.1.2.1"),
}

_REPORTED = {
    *(f"{name}.{size}" for name in ("rotr", "rotri", "bstrins") for size in "wd"),
    *("slli.d", "srli.d", "srai.d", "revh.2w", "revh.d"),
}

SEMANTICS = {
    mnemonic: Semantics(
        mnemonic,
        run,
        f"LoongArch Vol. 1, section {section}",
        _REPORT if mnemonic in _REPORTED else "",
    )
    for mnemonic, (run, section) in _TABLE.items()
}
