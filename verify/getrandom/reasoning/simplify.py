"""Terms with choices and equations in a simpler form; each is equal to what it was.

Code without branches chooses by multiplying with 0 or 1 and by joining two choices of which one is
zero. What is left is one choice, which a linear form can take for an atom. Masks and shifts are
pieces, and a number without the multiple of a power of two in it is what is left of it.
"""

from __future__ import annotations

from verify.getrandom.reasoning.alignment import by_cases
from verify.getrandom.reasoning.choices import choose, chooses_constants, pushed
from verify.getrandom.reasoning.comparisons import one_comparison
from verify.getrandom.reasoning.fields import cut, joined, spliced, widened
from verify.getrandom.reasoning.zeros import zero_asked
from verify.terms import (
    FALSE,
    TRUE,
    Term,
    binary,
    const,
    equal,
    iff_else,
    linear,
    negate,
    postorder,
    subtract,
)
from verify.terms.term import rebuild

_BITWISE = ("bvand", "bvor", "bvxor")


class Simplifier:
    """Simplifies; remembers what it has done.

    What `pointers` are rounded down to becomes a choice between what is known.
    """

    def __init__(self, pointers: frozenset[Term] = frozenset()) -> None:
        self._pointers = pointers
        self._done: dict[Term, Term] = {}

    def __call__(self, term: Term) -> Term:
        """An equal term."""
        done = self._done
        if term in done:
            return done[term]
        for part in postorder([term]):
            if part not in done:
                args = tuple(done[arg] for arg in part.args)
                same = all(a is b for a, b in zip(args, part.args, strict=True))
                whole = part if same else rebuild(part, args)
                cases = by_cases(whole, self._pointers)
                done[part] = simplified(whole) if cases is None else self(cases)
        return done[term]


def simplified(term: Term) -> Term:
    """A term equal to one whose arguments are simplified."""
    spread = pushed(term)
    if spread is None:
        spread = zero_asked(term)
    if spread is not None:
        return spread
    if term.op == "ite":
        return choose(*term.args)
    if term.op in ("and", "or"):
        compared = one_comparison(term)
        return compared if compared is term else _again(compared)
    if term.op == "=" and term.args[0].width:
        return _equation(term)
    if term.op == "bvult" and term.args[1].value == 0:
        return FALSE
    match term.op:
        case "extract":
            return _bits(term.args[0], *term.bounds)
        case "concat" | "zero_extend":
            return _bits(term, term.width - 1, 0)
        case "sign_extend":
            return widened(term.args[0], term.amount)
        case "bvshl" | "bvlshr" if term.args[1].value is not None:
            return _bits(term, term.width - 1, 0)
        case "bvmul" | "bvand" | "bvor" | "bvxor":
            return _commutative(term.op, *term.args)
        case "bvadd" | "bvsub":
            return _sum(term)
    return term


def _bits(term: Term, high: int, low: int) -> Term:
    """Bits high..low of a term whose arguments are simplified."""
    return joined(map(_piece, cut(term, high, low)))


def _piece(term: Term) -> Term:
    """Bits of a term with some of its bits set, cleared or turned, of a choice, or of an extension
    by its sign."""
    if term.op != "extract":
        return term
    (whole,), (high, low) = term.args, term.bounds
    if whole.op in _BITWISE and any(arg.value is not None for arg in whole.args):
        return simplified(rebuild(whole, tuple(_bits(arg, high, low) for arg in whole.args)))
    if whole.op == "ite":
        condition, *choices = whole.args
        return choose(condition, *(_bits(one, high, low) for one in choices))
    if whole.op == "sign_extend" and low < whole.args[0].width:
        inner = whole.args[0]
        return widened(_bits(inner, inner.width - 1, low), high + 1 - inner.width)
    return term


def _again(term: Term) -> Term:
    """A comparison of simplified terms, or its negation, simplified."""
    if term.op == "not":
        return negate(simplified(term.args[0]))
    return simplified(term)


def _commutative(op: str, a: Term, b: Term) -> Term:
    for one, other in ((a, b), (b, a)):
        if one.value == 0:
            return one if op in ("bvmul", "bvand") else other
        if (op == "bvmul" and one.value == 1) or (op == "bvand" and one.value == _ones(one)):
            return other
    for one, other in ((a, b), (b, a)):
        if op == "bvmul" and chooses_constants(one):
            condition, then, otherwise = one.args
            return iff_else(
                condition, _commutative(op, then, other), _commutative(op, otherwise, other)
            )
    if op == "bvor" and a.op == b.op == "ite" and a.args[0] in (b.args[0], negate(b.args[0])):
        condition, then, otherwise = a.args
        first, second = b.args[1:] if b.args[0] is condition else b.args[:0:-1]
        return iff_else(
            condition, _commutative(op, then, first), _commutative(op, otherwise, second)
        )
    parts = spliced(op, a, b) if op in _BITWISE else None
    return binary(op, a, b) if parts is None else joined(map(_piece, parts))


def _ones(term: Term) -> int:
    return (1 << term.width) - 1


def _sum(term: Term) -> Term:
    """A sum, with what is left of a number in place of it without the multiple of a power of two
    in it."""
    a, b = term.args
    if b.value == 0 or (a.value == 0 and term.op == "bvadd"):
        return a if b.value == 0 else b
    whole = linear(term)
    if whole.is_constant:
        return const(whole.constant, whole.width)
    for atom, factor in whole.coefficients.items():
        number, bits = _quotient(atom)
        times, rest = divmod(-factor, 1 << bits)
        if bits and not rest:
            others = whole.without(atom).plus(linear(number), -times)
            if len(others.coefficients) + 1 < len(whole.coefficients):
                left = joined((const(0, term.width - bits), _bits(number, bits - 1, 0)))
                return others.plus(linear(left), times).term()
    return term


def _quotient(term: Term) -> tuple[Term, int]:
    """A number and `bits` where a term is it divided by 2 ** bits, rounded down."""
    if term.op == "zero_extend" and term.args[0].op == "extract":
        (number,), (high, low) = term.args[0].args, term.args[0].bounds
        if low == term.amount and high == number.width - 1:
            return number, low
    return term, 0


def _equation(term: Term) -> Term:
    difference = linear(subtract(*term.args))
    if difference.is_constant:
        return FALSE if difference.constant else TRUE
    return equal(difference.term(), const(0, difference.width))
