"""Exported text is complete, standard, and says what the term says."""

from __future__ import annotations

import re

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from tests.terms.recipes import Both, assignments, booleans
from tests.terms.test_term import DEEP, X, deep
from verify.terms import (
    FALSE,
    TRUE,
    Term,
    concat,
    const,
    equal,
    evaluate,
    rotate_left,
    to_smtlib,
    to_z3,
    var,
    variables,
)
from verify.terms.term import BINARY, COMPARE, binary

# SMT-LIB 2.6, theory FixedSizeBitVectors and logic QF_BV, and the core theory.
STANDARD = {
    *BINARY,
    *COMPARE,
    *("concat", "extract", "rotate_left", "zero_extend", "sign_extend", "bvnot"),
    *("and", "or", "not", "ite", "true", "false"),
    *("set-logic", "QF_BV", "declare-const", "define-fun", "assert", "check-sat"),
    *("BitVec", "Bool", "_"),
}


def words_of(text: str) -> set[str]:
    """The symbols of a script that are neither numbers nor its own names."""
    symbols = re.sub(r"\|[^|]*\|", " ", text).replace("(", " ").replace(")", " ").split()
    return {s for s in symbols if not re.fullmatch(r"\d+|t\d+|bv\d+", s)}


@given(booleans(4), st.data())
def test_text_says_what_the_term_says(both: Both, data: st.DataObject) -> None:
    free = variables([both.term])
    assignment = data.draw(assignments(free))
    fixed = [
        equal(v, const(value, v.width)) if v.width or value else equal(v, FALSE)
        for v, value in assignment.items()
    ]
    text = to_smtlib([both.term, *fixed])
    assert words_of(text) <= STANDARD
    solver = z3.SolverFor("QF_BV")
    solver.from_string(text)
    expected = evaluate([both.term], assignment)[both.term]
    assert solver.check() == (z3.sat if expected else z3.unsat)


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        (equal(rotate_left(X, 7), X), "(define-fun t1 () (_ BitVec 32) ((_ rotate_left 7) |x|))"),
        (equal(X, const(5, 32)), "(define-fun t2 () Bool (= |x| (_ bv5 32)))"),
        (
            equal(concat(var("h", 8), var("m", 8), var("l", 8)), var("w", 24)),
            "(concat |h| (concat |m| |l|))",
        ),
        (TRUE, "(assert true)"),
        (var("key[0:4]'", 0), "(declare-const |key[0:4]'| Bool)"),
    ],
    ids=repr,
)
def test_lines(claim: Term, line: str) -> None:
    text = to_smtlib([claim])
    assert line in text
    assert text.startswith("(set-logic QF_BV)\n")
    assert text.endswith("(check-sat)\n")


def test_z3s_own_text_of_a_rotate_is_standard_too() -> None:
    (converted,) = to_z3([equal(rotate_left(X, 7), X)], z3.Context())
    assert "(_ rotate_left 7)" in converted.sexpr()
    assert "ext_rotate" not in converted.sexpr()


def test_depth_is_no_matter() -> None:
    claim = equal(deep(), const(0, 32))
    text = to_smtlib([claim])
    assert len(text.splitlines()) == DEEP + 7
    (converted,) = to_z3([claim], z3.Context())
    assert z3.is_eq(converted)


def test_shared_parts_are_written_once() -> None:
    turned = X
    for _ in range(60):
        turned = binary("bvmul", turned, turned)
    text = to_smtlib([equal(turned, X), equal(turned, const(0, 32))])
    assert text.count("bvmul") == 60
