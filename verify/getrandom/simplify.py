"""Terms with choices and equations in a simpler form; each is equal to what it was.

Code without branches chooses by multiplying with 0 or 1 and by joining two choices of which one is
zero. What is left is one choice, which a linear form can take for an atom.
"""

from __future__ import annotations

from verify.getrandom.alignment import by_cases
from verify.getrandom.choices import choose, chooses_constants, pushed
from verify.getrandom.comparisons import one_comparison
from verify.getrandom.zeros import zero_asked
from verify.terms import (
    FALSE,
    TRUE,
    Term,
    binary,
    const,
    equal,
    extract,
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
    if term.op == "extract" and term.args[0].op in _BITWISE:
        return _extracted(term)
    if term.op == "extract" and term.args[0].op == "ite":
        condition, *choices = term.args[0].args
        return choose(condition, *(simplified(extract(one, *term.bounds)) for one in choices))
    if term.op == "bvsub":
        form = linear(term)
        return const(form.constant, form.width) if form.is_constant else term
    if term.op in ("bvmul", "bvand", "bvor", "bvadd", "bvxor"):
        return _commutative(term.op, *term.args)
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
    return binary(op, a, b)


def _ones(term: Term) -> int:
    return (1 << term.width) - 1


def _extracted(term: Term) -> Term:
    """Bits of a term with some of its bits set, cleared or turned."""
    whole = term.args[0]
    if all(arg.value is None for arg in whole.args):
        return term
    return simplified(
        rebuild(whole, tuple(simplified(extract(arg, *term.bounds)) for arg in whole.args))
    )


def _equation(term: Term) -> Term:
    difference = linear(subtract(*term.args))
    if difference.is_constant:
        return FALSE if difference.constant else TRUE
    return equal(difference.term(), const(0, difference.width))
