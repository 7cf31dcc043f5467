"""From angr's claripy expressions to terms.

The walk is iterative, since terms of unrolled code are thousands of levels deep, and total: an
operator that is not listed raises, it is never approximated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from angr import claripy

from verify.terms import (
    Term,
    concat,
    conjunction,
    const,
    disjunction,
    equal,
    extract,
    iff_else,
    negate,
    reverse_bytes,
    rotate_left,
    sign_extend,
    subtract,
    var,
    zero_extend,
)
from verify.terms.term import BOOL, binary, complement

_FOLDED = {
    "__add__": "bvadd",
    "__sub__": "bvsub",
    "__mul__": "bvmul",
    "__and__": "bvand",
    "__or__": "bvor",
    "__xor__": "bvxor",
    "__lshift__": "bvshl",
    "LShR": "bvlshr",
    "__rshift__": "bvashr",
    "__floordiv__": "bvudiv",
    "__mod__": "bvurem",
    "ULT": "bvult",
    "ULE": "bvule",
    "SLT": "bvslt",
    "SLE": "bvsle",
}
_SWAPPED = {
    "UGT": "bvult",
    "UGE": "bvule",
    "SGT": "bvslt",
    "SGE": "bvsle",
}


_FOLDED_BITS = 64
"""angr's own arithmetic on constants is right up to this width."""


class UnknownOperator(ValueError):
    """A claripy operator that has no counterpart among the terms."""


def _rotate(a: Term, by: Term, left: bool) -> Term:
    if by.value is not None:
        return rotate_left(a, by.value if left else -by.value)
    width = const(a.width, a.width)
    by = binary("bvurem", by, width)
    back = subtract(width, by)
    forth, behind = ("bvshl", "bvlshr") if left else ("bvlshr", "bvshl")
    return binary("bvor", binary(forth, a, by), binary(behind, a, back))


def _if(args: list[Any]) -> Term:
    condition, then, other = args
    if then.width == BOOL:
        return disjunction(
            (conjunction((condition, then)), conjunction((negate(condition), other)))
        )
    return iff_else(condition, then, other)


_SPECIAL: dict[str, Callable[[list[Any]], Term]] = {
    "__invert__": lambda a: complement(a[0]),
    "__neg__": lambda a: subtract(const(0, a[0].width), a[0]),
    "Concat": lambda a: concat(*a),
    "Extract": lambda a: extract(a[2], a[0], a[1]),
    "ZeroExt": lambda a: zero_extend(a[1], a[0]),
    "SignExt": lambda a: sign_extend(a[1], a[0]),
    "RotateLeft": lambda a: _rotate(a[0], a[1], True),
    "RotateRight": lambda a: _rotate(a[0], a[1], False),
    "Reverse": lambda a: reverse_bytes(a[0]),
    # A floating-point number that is only moved; no operation on one has a counterpart.
    "bvToFP": lambda a: a[0],
    "fpToIEEEBV": lambda a: a[0],
    "If": _if,
    "__eq__": lambda a: equal(a[0], a[1]),
    "__ne__": lambda a: negate(equal(a[0], a[1])),
    "And": conjunction,
    "Or": disjunction,
    "Not": lambda a: negate(a[0]),
}


def _build(op: str, args: list[Any], width: int) -> Term:
    if op == "BVV":
        return const(args[0], width)
    if op == "BVS":
        return var(args[0], width)
    if op == "BoolV":
        return const(int(args[0]), BOOL)
    if op in _FOLDED:
        result = args[0]
        for arg in args[1:]:
            result = binary(_FOLDED[op], result, arg)
        return result  # type: ignore[no-any-return]
    if op in _SWAPPED:
        return binary(_SWAPPED[op], args[1], args[0])
    if op in _SPECIAL:
        return _SPECIAL[op](args)
    raise UnknownOperator(op)


class Converter:
    """Converts expressions of one execution; shared sub-expressions are converted once."""

    def __init__(self) -> None:
        self._known: dict[int, Term] = {}
        self._names: dict[Term, Any] = {}
        self._alive: list[Any] = []

    def bind(self, expression: Any) -> tuple[Any, Term]:
        """A leaf that stands for a bit-vector expression, and the expression's term.

        Engines go on with the leaf, so that what they build stays as shallow as one instruction,
        however long the program: the depth is in the terms. A constant is its own leaf.
        """
        term = self.term(expression)
        return self.leaf(term), term

    def leaf(self, term: Term) -> Any:
        """A claripy constant or variable that stands for a bit-vector term."""
        leaf = self._names.get(term)
        if leaf is None:
            if term.value is not None:
                leaf = claripy.BVV(term.value, term.width)
            else:
                name = term.name if term.op == "var" else f"#{len(self._names)}"
                leaf = claripy.BVS(name, term.width, explicit_name=True)
            self._names[term] = leaf
            self._known[leaf.hash()] = term
        return leaf

    def unfolded(self, value: Any) -> Any:
        """The value, or a variable that stands for it if angr computes wrongly with it.

        angr 10.0.5 shifts constants of more than 64 bits by nothing, whatever the amount.
        """
        if value.size() <= _FOLDED_BITS or not value.concrete:
            return value
        term = self.term(value)
        leaf = claripy.BVS(f"constant#{term.value:x}", term.width, explicit_name=True)
        self._known[leaf.hash()] = term
        return leaf

    def term(self, expression: Any) -> Term:
        """The term equal to a claripy bit-vector or Boolean for every assignment.

        Raises UnknownOperator.
        """
        known = self._known
        stack: list[tuple[Any, int, Any]] = [(expression, expression.hash(), None)]
        while stack:
            node, key, args = stack.pop()
            if key in known:
                continue
            if args is None:
                args = node.args
                missing = [
                    (arg, arg.hash(), None)
                    for arg in args
                    if hasattr(arg, "hash") and arg.hash() not in known
                ]
                if missing:
                    stack.append((node, key, args))
                    stack.extend(missing)
                    continue
            width = getattr(node, "length", None) or BOOL
            terms = [known[arg.hash()] if hasattr(arg, "hash") else arg for arg in args]
            known[key] = _build(node.op, terms, width)
        # The hash identifies an expression only as long as nothing else can take its place.
        self._alive.append(expression)
        return known[expression.hash()]
