"""Constructors and values mean what SMT-LIB says, by Z3's reading of the same expression."""

from __future__ import annotations

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from tests.terms.recipes import (
    Z3_BINARY,
    Z3_COMPARE,
    Both,
    assignments,
    expressions,
    values,
    z3_value,
)
from verify.terms import Term, const, evaluate, to_z3, var, variables
from verify.terms.term import BINARY, COMPARE, binary


@given(expressions(), st.data())
def test_value_is_z3s(both: Both, data: st.DataObject) -> None:
    free = variables([both.term])
    assignment = data.draw(assignments(free))
    expected = z3_value(both.z3, assignment)
    assert evaluate([both.term], assignment)[both.term] == expected


@given(expressions(depth=3))
def test_term_and_expression_are_equal_for_all_values(both: Both) -> None:
    context = z3.Context()
    (converted,) = to_z3([both.term], context)
    solver = z3.SolverFor("QF_BV", ctx=context)
    solver.set("rlimit", 3_000_000)
    solver.add(converted != both.z3.translate(context))
    assert solver.check() != z3.sat


@pytest.mark.parametrize("op", [*BINARY, *COMPARE])
@given(st.data())
def test_constants_fold_to_what_z3_computes(op: str, data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 70))
    a, b = data.draw(values(width)), data.draw(values(width))
    meaning = Z3_BINARY.get(op) or Z3_COMPARE[op]
    expected = z3_value(meaning(z3.BitVecVal(a, width), z3.BitVecVal(b, width)), {})
    folded = binary(op, const(a, width), const(b, width))
    assert folded.value == expected
    x, y = var("x", width), var("y", width)
    term = binary(op, x, y)
    assert term.op == op
    assert evaluate([term], {x: a, y: b})[term] == expected


def test_a_variable_without_a_value() -> None:
    x = var("x", 8)
    with pytest.raises(KeyError, match="x"):
        evaluate([x], {})
    assert evaluate([x], {}, default=0x1FF) == {x: 0xFF}


def test_an_assignment_may_fix_any_term() -> None:
    x = var("x", 8)
    inner = binary("bvadd", x, const(1, 8))
    outer = binary("bvmul", inner, const(3, 8))
    assert evaluate([outer], {x: 9, inner: 5})[outer] == 15


def test_an_operator_without_a_meaning_is_refused() -> None:
    odd = Term()
    odd.op, odd.width, odd.args, odd.data = "bvnand", 8, (var("x", 8),), None
    with pytest.raises(ValueError, match="bvnand"):
        evaluate([odd], {}, default=1)
    with pytest.raises(ValueError, match="bvnand"):
        to_z3([odd], z3.Context())
