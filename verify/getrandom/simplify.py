"""Terms with choices and equations in a simpler form; each is equal to what it was.

Code without branches chooses by multiplying with 0 or 1 and by joining two choices of which one is
zero. What is left is one choice, which a linear form can take for an atom.
"""

from __future__ import annotations

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
from verify.terms.term import COMPARE, rebuild


class Simplifier:
    """Simplifies; remembers what it has done."""

    def __init__(self) -> None:
        self._done: dict[Term, Term] = {}

    def __call__(self, term: Term) -> Term:
        """An equal term."""
        done = self._done
        for part in postorder([term]):
            if part not in done:
                args = tuple(done[arg] for arg in part.args)
                same = all(a is b for a, b in zip(args, part.args, strict=True))
                done[part] = simplified(part if same else rebuild(part, args))
        return done[term]


def simplified(term: Term) -> Term:
    """A term equal to one whose arguments are simplified."""
    if term.op == "=" and term.args[0].width:
        return _equation(term)
    if term.op in COMPARE and term.args[0].width:
        return _comparison(term)
    if term.op in ("zero_extend", "sign_extend", "extract") and _chooses_constants(term.args[0]):
        condition, then, other = term.args[0].args
        return iff_else(condition, rebuild(term, (then,)), rebuild(term, (other,)))
    if term.op in ("bvmul", "bvand", "bvor", "bvadd", "bvxor"):
        return _commutative(term.op, *term.args)
    return term


def _chooses_constants(term: Term) -> bool:
    return term.op == "ite" and all(arg.value is not None for arg in term.args[1:])


def _commutative(op: str, a: Term, b: Term) -> Term:
    for one, other in ((a, b), (b, a)):
        if one.value == 0:
            return one if op in ("bvmul", "bvand") else other
        if op == "bvmul" and one.value == 1:
            return other
    for one, other in ((a, b), (b, a)):
        if op == "bvmul" and _chooses_constants(one):
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


def _comparison(term: Term) -> Term:
    for index, choice in enumerate(term.args):
        other = term.args[1 - index]
        if other.value is not None and _chooses_constants(choice):
            pairs = [(value, other) if index == 0 else (other, value) for value in choice.args[1:]]
            then, otherwise = (binary(term.op, *pair) for pair in pairs)
            if then is otherwise:
                return then
            return choice.args[0] if then is TRUE else negate(choice.args[0])
    return term


def _equation(term: Term) -> Term:
    compared = _comparison(term)
    if compared is not term:
        return compared
    difference = linear(subtract(*term.args))
    if difference.is_constant:
        return FALSE if difference.constant else TRUE
    return equal(difference.term(), const(0, difference.width))
