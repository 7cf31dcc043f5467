"""Every operator of angr's expressions becomes terms of the same value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.terms.recipes import values
from verify.lift.angr_import import import_angr
from verify.terms import Term, add, concat, const, evaluate, extract, var

import_angr()

from angr import claripy  # noqa: E402

from verify.lift import convert  # noqa: E402
from verify.lift.convert import Converter, UnknownOperator  # noqa: E402

DEEP = 20_000
FARTHEST = 2**32
"""Less than this angr can shift by; see test_constants.py."""

Expression = Callable[[Any, Any], Any]

# Operator as angr names it, an expression of two values of one width, widths.
EXPRESSIONS: list[tuple[str, Expression, tuple[int, ...]]] = [
    ("__add__", lambda a, b: a + b + a, (1, 8, 64)),
    ("__sub__", lambda a, b: a - b, (1, 8, 64)),
    ("__mul__", lambda a, b: a * b, (1, 8, 64)),
    ("__and__", lambda a, b: a & b, (1, 8, 64)),
    ("__or__", lambda a, b: a | b, (1, 8, 64)),
    ("__xor__", lambda a, b: a ^ b, (1, 8, 64)),
    ("__lshift__", lambda a, b: a << b, (1, 8, 64)),
    ("LShR", claripy.LShR, (1, 8, 64)),
    ("__rshift__", lambda a, b: a >> b, (1, 8, 64)),
    ("__floordiv__", lambda a, b: a // (b | 1), (8, 64)),
    ("__mod__", lambda a, b: a % (b | 1), (8, 64)),
    ("ULT", lambda a, b: a < b, (1, 8, 64)),
    ("ULE", lambda a, b: a <= b, (1, 8, 64)),
    ("UGT", lambda a, b: a > b, (1, 8, 64)),
    ("UGE", lambda a, b: a >= b, (1, 8, 64)),
    ("SLT", claripy.SLT, (1, 8, 64)),
    ("SLE", claripy.SLE, (1, 8, 64)),
    ("SGT", claripy.SGT, (1, 8, 64)),
    ("SGE", claripy.SGE, (1, 8, 64)),
    ("__eq__", lambda a, b: a == b, (1, 8, 64)),
    ("__ne__", lambda a, b: a != b, (1, 8, 64)),
    ("__invert__", lambda a, b: ~(a & b), (1, 8, 64)),
    ("__neg__", lambda a, b: -(a & b), (1, 8, 64)),
    ("Concat", lambda a, b: claripy.Concat(a, b, a), (1, 8, 64)),
    ("Extract", lambda a, b: (a + b)[6:3], (8, 64)),
    ("ZeroExt", lambda a, b: (a + b).zero_extend(7), (1, 8, 64)),
    ("SignExt", lambda a, b: (a + b).sign_extend(7), (1, 8, 64)),
    ("RotateLeft", claripy.RotateLeft, (8, 32, 64)),
    ("RotateLeft", lambda a, b: claripy.RotateLeft(a + b, claripy.BVV(5, a.size())), (8, 32)),
    ("RotateRight", claripy.RotateRight, (8, 32, 64)),
    ("RotateRight", lambda a, b: claripy.RotateRight(a + b, claripy.BVV(5, a.size())), (8, 32)),
    ("Reverse", lambda a, b: (a + b).reversed, (16, 64)),
    ("bvToFP", lambda a, b: (a + b).raw_to_fp(), (32, 64)),
    ("fpToIEEEBV", lambda a, b: (a + b).raw_to_fp().raw_to_bv(), (64,)),
    ("If", lambda a, b: claripy.If(a < b, a, b), (1, 8, 64)),
    ("If", lambda a, b: claripy.If(a < b, a == b + 1, claripy.SLT(a, b)), (8, 64)),
    ("And", lambda a, b: claripy.And(a < b, claripy.SLT(b, a)), (8, 64)),
    ("Or", lambda a, b: claripy.Or(a < b, claripy.SLT(b, a)), (8, 64)),
    ("Not", lambda a, b: claripy.Not(claripy.And(a < b, claripy.SLT(b, a))), (8, 64)),
]


def cases() -> list[Any]:
    return [
        pytest.param(op, make, width, id=f"{op}-{width}-{number}")
        for number, (op, make, widths) in enumerate(EXPRESSIONS)
        for width in widths
    ]


def symbols(width: int) -> tuple[Any, Any]:
    return tuple(claripy.BVS(name, width, explicit_name=True) for name in ("a", "b"))  # type: ignore[return-value]


@pytest.mark.parametrize(("op", "make", "width"), cases())
@given(st.data())
def test_value(op: str, make: Expression, width: int, data: st.DataObject) -> None:
    expression = make(*symbols(width))
    assert expression.op == op
    term = Converter().term(expression)
    assert term.width == (getattr(expression, "length", None) or 0)
    pair = [data.draw(values(width), label=name) for name in ("a", "b")]
    if op in {"__lshift__", "LShR", "__rshift__"}:
        pair[1] %= FARTHEST
    expected = make(*(claripy.BVV(value, width) for value in pair))
    if op == "bvToFP":
        expected = expected.raw_to_bv()
    assignment = {var("a", width): pair[0], var("b", width): pair[1]}
    value = evaluate([term], assignment)[term]
    assert value == (expected.concrete_value if term.width else int(expected.is_true()))


def test_every_operator_that_has_a_meaning_is_among_them() -> None:
    known = {*convert._FOLDED, *convert._SWAPPED, *convert._SPECIAL}
    assert {op for op, _, _ in EXPRESSIONS} == known


@pytest.mark.parametrize(
    "make",
    [
        claripy.SDiv,
        claripy.SMod,
        lambda a, b: claripy.BoolS("p", explicit_name=True),
        lambda a, b: a.val_to_fp(claripy.FSORT_DOUBLE).raw_to_bv() + 1,
        lambda a, b: a.raw_to_fp() == b.raw_to_fp(),
    ],
)
def test_what_has_no_meaning_is_refused(make: Expression) -> None:
    with pytest.raises(UnknownOperator):
        Converter().term(make(*symbols(64)))


def test_constants_and_variables() -> None:
    converter = Converter()
    assert converter.term(claripy.BVV(0x1FF, 8)) is const(0xFF, 8)
    assert converter.term(claripy.BoolV(True)) is const(1, 0)
    assert converter.term(claripy.BVS("k0", 32, explicit_name=True)) is var("k0", 32)


def test_leaves_stand_for_terms() -> None:
    converter = Converter()
    a, b = symbols(64)
    leaf, term = converter.bind(a + b)
    assert leaf.op == "BVS" and term is add(var("a", 64), var("b", 64))
    assert converter.bind(a + b)[0] is leaf
    assert converter.term(leaf) is term
    assert converter.term(leaf[31:0] + 1) is add(extract(term, 31, 0), const(1, 32))
    other, _ = converter.bind(a - b)
    assert other.args != leaf.args
    assert converter.leaf(const(7, 16)).concrete_value == 7
    assert converter.leaf(var("k0", 32)).args[0] == "k0"
    assert Converter().leaf(term).args == leaf.args


def test_depth_is_no_matter() -> None:
    a, b = symbols(32)
    expression, expected = a, var("a", 32)
    other: Term = var("b", 32)
    for number in range(DEEP):
        expression = expression + b if number % 2 else claripy.Concat(expression[0:0], b[31:1])
        expected = (
            add(expected, other)
            if number % 2
            else concat(extract(expected, 0, 0), extract(other, 31, 1))
        )
    value = {var("a", 32): 1, other: 0x1234_5678}
    converted = Converter().term(expression)
    assert evaluate([converted], value)[converted] == evaluate([expected], value)[expected]
