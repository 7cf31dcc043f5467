"""What the manual leaves undefined is not given a value, and what cannot be known is refused."""

from __future__ import annotations

import pytest

from tests.lift.programs import run
from verify.lift.machine import UNDEFINED, Unsupported
from verify.terms import Term, evaluate, variables
from verify.validate.encodings import encoding_of

ARCH = "loongarch64"
# Opcode, whether of words, signed, a remainder: rd, rj, rk in the low 15 bits.
DIVISIONS = [
    (0x00200000, 32, True, False),  # div.w
    (0x00208000, 32, True, True),  # mod.w
    (0x00210000, 32, False, False),  # div.wu
    (0x00218000, 32, False, True),  # mod.wu
    (0x00220000, 64, True, False),  # div.d
    (0x00228000, 64, True, True),  # mod.d
    (0x00230000, 64, False, False),  # div.du
    (0x00238000, 64, False, True),  # mod.du
]
A5_BY_A6 = 6 << 0 | 9 << 5 | 10 << 10
"""rd is $a2, rj $a5, rk $a6."""
LEAST = 1 << 63


def extended(value: int, width: int) -> int:
    """The low bits of a number, sign-extended to 64 bits."""
    low = value & (1 << width) - 1
    return (low - (low >> (width - 1) << width)) % 2**64


def number(value: int, width: int, *, signed: bool) -> int:
    low = value & (1 << width) - 1
    return low - (low >> (width - 1) << width) if signed else low


def divided(a: int, b: int, *, remainder: bool) -> int:
    """Rounded towards zero."""
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a - quotient * b if remainder else quotient


def result(opcode: int) -> Term:
    _, registers = run(ARCH, [opcode | A5_BY_A6])
    return registers["a2"]


def value(term: Term, dividend: int, divisor: int, undefined: int) -> int:
    given = {"init_a5": dividend, "init_a6": divisor}
    values = {v: given.get(v.name, undefined) for v in variables([term])}
    return evaluate((term,), values)[term]


@pytest.mark.parametrize(("opcode", "width", "signed", "remainder"), DIVISIONS)
def test_division_rounds_towards_zero(
    opcode: int, width: int, signed: bool, remainder: bool
) -> None:
    term = result(opcode)
    numbers = [7, 2**31 - 1, 1, 2**32 - 7, 2**32 - 1, 2**31]
    if width == 64:
        numbers += [2**64 - 7, 2**64 - 1, LEAST, LEAST - 1, 0x123456789ABCDEF]
    for one in numbers:
        for other in numbers:
            a, b = (extended(n, width) for n in (one, other))
            operands = [number(n, width, signed=signed) for n in (a, b)]
            expected = extended(divided(*operands, remainder=remainder), width)
            assert value(term, a, b, 99) == expected


@pytest.mark.parametrize(("opcode", "width"), [entry[:2] for entry in DIVISIONS])
class TestUndefinedDivision:
    def test_by_zero(self, opcode: int, width: int) -> None:
        term = result(opcode)
        found = {value(term, 5 % 2**width, 0, any_value) for any_value in (0, 5, 77)}
        assert found == {0, 5, 77}

    def test_of_what_is_no_word(self, opcode: int, width: int) -> None:
        term = result(opcode)
        for operands in ((2**32, 3), (3, 2**32 + 3), (2**31, 3)):
            found = {value(term, *operands, any_value) for any_value in (0, 99)}
            assert len(found) == (2 if width == 32 else 1)

    def test_is_not_compared(self, opcode: int, width: int) -> None:
        code = (opcode | A5_BY_A6).to_bytes(4, "little")
        undefined = encoding_of(ARCH).undefined
        assert tuple(undefined(code, {"a5": 5, "a6": 0})) == ("a2",)
        assert tuple(undefined(code, {"a5": 2**64 - 5, "a6": 3})) == ()
        wide = ("a2",) if width == 32 else ()
        assert tuple(undefined(code, {"a5": 2**31, "a6": 3})) == wide
        assert tuple(undefined(code, {"a5": 3, "a6": 2**63})) == wide


def test_nothing_is_undefined_of_an_addition() -> None:
    undefined = encoding_of(ARCH).undefined
    assert tuple(undefined(0x00108000.to_bytes(4, "little"), {"a5": 2**63})) == ()


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (0x21000085, "a conditional store"),  # sc.w $a1, $a0, 0
        (0x23000085, "a conditional store"),  # sc.d $a1, $a0, 0
        (0x2B000080, "undefined"),  # fld.s $fa0, $a0, 0
        (0x38301480, "undefined"),  # fldx.s $fa0, $a0, $a1
        (0x01149420, "undefined"),  # fmov.s $fa0, $fa1
        (0x0114D400, "undefined"),  # movcf2fr $fa0, $fcc0
    ],
)
def test_refused(word: int, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        run(ARCH, [word])


def test_a_floating_point_write_leaves_what_is_above_undefined() -> None:
    # movgr2fr.w $fa0, $a0; movgr2frh.w $fa1, $a0
    _, registers = run(ARCH, [0x0114A480, 0x0114AC81])
    names = {v.name.split("@")[0] for v in variables([registers["fa0"], registers["vr0.high"]])}
    assert UNDEFINED.removesuffix("@") in names
    assert not any(v.name.startswith(UNDEFINED) for v in variables([registers["fa1"]]))
