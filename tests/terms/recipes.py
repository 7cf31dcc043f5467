"""Random expressions, built at once as terms and, independently, as Z3 expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import z3
from hypothesis import strategies as st

from verify.terms import (
    Term,
    concat,
    conjunction,
    const,
    disjunction,
    extract,
    iff_else,
    negate,
    reverse_bytes,
    rotate_left,
    sign_extend,
    var,
    zero_extend,
)
from verify.terms.term import BINARY, COMPARE, binary, complement

WIDTHS = (1, 3, 8, 16, 31, 32, 64)
NAMES = ("a", "b", "c")
FLAGS = ("p", "q")

Z3_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "bvadd": lambda a, b: a + b,
    "bvsub": lambda a, b: a - b,
    "bvmul": lambda a, b: a * b,
    "bvudiv": z3.UDiv,
    "bvurem": z3.URem,
    "bvand": lambda a, b: a & b,
    "bvor": lambda a, b: a | b,
    "bvxor": lambda a, b: a ^ b,
    "bvshl": lambda a, b: a << b,
    "bvlshr": z3.LShR,
    "bvashr": lambda a, b: a >> b,
}
Z3_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "bvult": z3.ULT,
    "bvule": z3.ULE,
    "bvslt": lambda a, b: a < b,
    "bvsle": lambda a, b: a <= b,
}
assert set(Z3_BINARY) == set(BINARY) and set(Z3_COMPARE) == set(COMPARE)


@dataclass(frozen=True)
class Both:
    """One expression as a term and as a Z3 expression of Z3's main context."""

    term: Term
    z3: Any


def variable(name: str, width: int) -> Both:
    """A variable, whose name tells its width."""
    full = f"{name}{width}"
    return Both(var(full, width), z3.BitVec(full, width) if width else z3.Bool(full))


def values(width: int) -> st.SearchStrategy[int]:
    """Unsigned values, often at the ends and at the sign."""
    top = (1 << width) - 1
    corners = st.sampled_from([0, 1 & top, top, top >> 1, (top >> 1) + 1 & top, width & top])
    return corners | st.integers(0, top)


@st.composite
def bit_vectors(draw: st.DrawFn, width: int, depth: int) -> Both:
    """An expression of `width` bits."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        if draw(st.booleans()):
            return variable(draw(st.sampled_from(NAMES)), width)
        value = draw(values(width))
        return Both(const(value, width), z3.BitVecVal(value, width))
    makers = [_binary, _complement, _rotate, _choice, _slice]
    if width > 1:
        makers += [_joined, _extended]
    if width % 8 == 0:
        makers += [_reversed]
    made: Both = draw(st.sampled_from(makers).flatmap(lambda maker: maker(width, depth - 1)))
    return made


@st.composite
def _binary(draw: st.DrawFn, width: int, depth: int) -> Both:
    op = draw(st.sampled_from(sorted(Z3_BINARY)))
    a, b = draw(bit_vectors(width, depth)), draw(bit_vectors(width, depth))
    return Both(binary(op, a.term, b.term), Z3_BINARY[op](a.z3, b.z3))


@st.composite
def _complement(draw: st.DrawFn, width: int, depth: int) -> Both:
    a = draw(bit_vectors(width, depth))
    return Both(complement(a.term), ~a.z3)


@st.composite
def _rotate(draw: st.DrawFn, width: int, depth: int) -> Both:
    a = draw(bit_vectors(width, depth))
    amount = draw(st.integers(-width, 2 * width))
    by = z3.BitVecVal(amount % width, width)
    return Both(rotate_left(a.term, amount), z3.RotateLeft(a.z3, by))


@st.composite
def _choice(draw: st.DrawFn, width: int, depth: int) -> Both:
    condition = draw(booleans(depth))
    a, b = draw(bit_vectors(width, depth)), draw(bit_vectors(width, depth))
    return Both(iff_else(condition.term, a.term, b.term), z3.If(condition.z3, a.z3, b.z3))


@st.composite
def _slice(draw: st.DrawFn, width: int, depth: int) -> Both:
    whole = draw(st.integers(width, width + 40))
    low = draw(st.integers(0, whole - width))
    # Constructors look into what is sliced, so that is often a slice or put together itself.
    makers = [bit_vectors]
    if depth:
        makers += [_slice] + ([_joined, _extended] if whole > 1 else [])
    a: Both = draw(st.sampled_from(makers).flatmap(lambda maker: maker(whole, max(depth - 1, 0))))
    return Both(extract(a.term, low + width - 1, low), z3.Extract(low + width - 1, low, a.z3))


@st.composite
def _joined(draw: st.DrawFn, width: int, depth: int) -> Both:
    if draw(st.booleans()):
        # Two slices of one whole, which grow together if they are neighbours.
        whole = draw(bit_vectors(width, depth))
        cut = draw(st.integers(1, width - 1))
        gap = draw(st.sampled_from([0, 0, 1]))
        low = max(cut - gap, 1)
        upper, lower = extract(whole.term, width - 1, cut), extract(whole.term, low - 1, 0)
        upper_z3, lower_z3 = z3.Extract(width - 1, cut, whole.z3), z3.Extract(low - 1, 0, whole.z3)
        filled = zero_extend(concat(upper, lower), cut - low)
        return Both(filled, z3.ZeroExt(cut - low, z3.Concat(upper_z3, lower_z3)))
    cuts = draw(st.sets(st.integers(1, width - 1), min_size=1, max_size=3))
    edges = [0, *sorted(cuts), width]
    sizes = [high - low for low, high in pairwise(edges)]
    parts = [draw(bit_vectors(size, depth)) for size in sizes]
    return Both(concat(*(part.term for part in parts)), z3.Concat(*(part.z3 for part in parts)))


@st.composite
def _extended(draw: st.DrawFn, width: int, depth: int) -> Both:
    inner = draw(st.integers(1, width))
    a = draw(bit_vectors(inner, depth))
    if draw(st.booleans()):
        return Both(zero_extend(a.term, width - inner), z3.ZeroExt(width - inner, a.z3))
    return Both(sign_extend(a.term, width - inner), z3.SignExt(width - inner, a.z3))


@st.composite
def _reversed(draw: st.DrawFn, width: int, depth: int) -> Both:
    a = draw(bit_vectors(width, depth))
    parts = [z3.Extract(low + 7, low, a.z3) for low in range(0, width, 8)]
    return Both(reverse_bytes(a.term), z3.Concat(*parts) if len(parts) > 1 else a.z3)


@st.composite
def booleans(draw: st.DrawFn, depth: int) -> Both:
    """A Boolean expression."""
    if depth == 0:
        return variable(draw(st.sampled_from(FLAGS)), 0)
    kind = draw(st.sampled_from(["compare", "not", "and", "or", "flag", "same"]))
    if kind == "flag":
        return variable(draw(st.sampled_from(FLAGS)), 0)
    if kind == "compare":
        width = draw(st.sampled_from(WIDTHS))
        op = draw(st.sampled_from(sorted(Z3_COMPARE)))
        a, b = draw(bit_vectors(width, depth - 1)), draw(bit_vectors(width, depth - 1))
        return Both(binary(op, a.term, b.term), Z3_COMPARE[op](a.z3, b.z3))
    parts = draw(st.lists(booleans(depth - 1), min_size=1, max_size=3))
    if kind == "not":
        return Both(negate(parts[0].term), z3.Not(parts[0].z3))
    if kind == "same":
        a, b = parts[0], parts[-1]
        return Both(binary("=", a.term, b.term), a.z3 == b.z3)
    join, join_z3 = (conjunction, z3.And) if kind == "and" else (disjunction, z3.Or)
    return Both(join([part.term for part in parts]), join_z3(*(part.z3 for part in parts)))


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> Both:
    """An expression of any sort."""
    width = draw(st.sampled_from((0, *WIDTHS)))
    made: Both = draw(bit_vectors(width, depth) if width else booleans(depth))
    return made


def assignments(free: frozenset[Term]) -> st.SearchStrategy[dict[Term, int]]:
    """Values for variables."""
    ordered = sorted(free, key=lambda term: term.name)
    return st.fixed_dictionaries(
        {term: values(term.width) if term.width else st.integers(0, 1) for term in ordered}
    )


def z3_value(expression: Any, assignment: dict[Term, int]) -> int:
    """What Z3 says the value is."""
    pairs = [
        (
            (z3.BitVec(term.name, term.width), z3.BitVecVal(value, term.width))
            if term.width
            else (z3.Bool(term.name), z3.BoolVal(bool(value)))
        )
        for term, value in assignment.items()
    ]
    result = z3.simplify(z3.substitute(expression, *pairs))
    return int(z3.is_true(result)) if z3.is_bool(result) else result.as_long()
