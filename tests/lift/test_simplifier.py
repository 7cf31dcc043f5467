"""What angr makes of an expression while it is built has the value that the operators give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.terms.recipes import assignments, bit_vectors, booleans
from verify.lift.angr_import import import_angr
from verify.terms import Term, evaluate, postorder, variables

import_angr()

from angr import claripy  # noqa: E402

from verify.lift.convert import Converter  # noqa: E402

WIDTHS = (1, 8, 24, 32, 64, 65, 128, 256)

OPERATORS: dict[str, Callable[..., Any]] = {
    "bvadd": lambda a, b: a + b,
    "bvsub": lambda a, b: a - b,
    "bvmul": lambda a, b: a * b,
    "bvand": lambda a, b: a & b,
    "bvor": lambda a, b: a | b,
    "bvxor": lambda a, b: a ^ b,
    "bvnot": lambda a: ~a,
    "bvshl": lambda a, b: a << b,
    "bvlshr": claripy.LShR,
    "bvashr": lambda a, b: a >> b,
    "=": lambda a, b: a == b,
    "bvult": claripy.ULT,
    "bvule": claripy.ULE,
    "bvslt": claripy.SLT,
    "bvsle": claripy.SLE,
    "concat": claripy.Concat,
    "ite": claripy.If,
    "not": claripy.Not,
    "and": claripy.And,
    "or": claripy.Or,
}


def through_angr(root: Term, converter: Converter) -> Any:
    """The same expression, put together with angr's operators."""
    built: dict[Term, Any] = {}
    for term in postorder([root]):
        args = [built[arg] for arg in term.args]
        if term.op in ("const", "var") or term.op in ("bvudiv", "bvurem"):
            made = _leaf(term, converter)
        elif term.op == "extract":
            high, low = term.bounds
            made = args[0][high:low]
        elif term.op == "zero_extend":
            made = args[0].zero_extend(term.amount)
        elif term.op == "sign_extend":
            made = args[0].sign_extend(term.amount)
        elif term.op == "rotate_left":
            made = claripy.RotateLeft(args[0], claripy.BVV(term.amount, term.width))
        else:
            made = OPERATORS[term.op](*args)
        # As the engines do it, see test_constants.py.
        built[term] = converter.unfolded(made) if term.width else made
    return built[root]


def _leaf(term: Term, converter: Converter) -> Any:
    if term.width:
        return converter.leaf(term)
    if term.value is not None:
        return claripy.BoolV(bool(term.value))
    name = f"{term.name}?"
    return claripy.BVS(name, 1, explicit_name=True) == 1


@given(st.data())
def test_value_survives_simplification(data: st.DataObject) -> None:
    width = data.draw(st.sampled_from((0, *WIDTHS)))
    both = data.draw(bit_vectors(width, 5) if width else booleans(5))
    converter = Converter()
    back = converter.term(through_angr(both.term, converter))
    free = variables([both.term])
    values = data.draw(assignments(free))
    flags = {v: values[f] for v in variables([back]) for f in free if v.name == f"{f.name}?"}
    expected = evaluate([both.term], values)[both.term]
    assert evaluate([back], {**values, **flags})[back] == expected
