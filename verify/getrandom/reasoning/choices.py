"""Choices between constants: what comparisons leave in condition registers.

A choice is a tree of `ite` whose leaves are constants. An operation on it is one on each leaf, and
so the bit of a condition register that a branch looks at becomes the comparison that it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from verify.terms import (
    FALSE,
    TRUE,
    Linear,
    Term,
    binary,
    conjunction,
    const,
    disjunction,
    iff_else,
    linear,
    negate,
)
from verify.terms.term import rebuild

_MOST_LEAVES = 16
_OR_EQUAL = {"bvult": "bvule", "bvslt": "bvsle"}


def leaves(term: Term) -> Iterator[Term]:
    """The leaves of the tree of `ite` that a term is; the term itself if it is none."""
    if term.op == "ite":
        yield from leaves(term.args[1])
        yield from leaves(term.args[2])
    else:
        yield term


def chooses_constants(term: Term) -> bool:
    """Whether a term is a choice between constants, and not too large a one."""
    if term.op != "ite":
        return False
    found = tuple(islice(leaves(term), _MOST_LEAVES + 1))
    return len(found) <= _MOST_LEAVES and all(leaf.value is not None for leaf in found)


def pushed(term: Term) -> Term | None:
    """The term with its operation on each leaf of its arguments; None where not all of them are
    choices between constants or constants."""
    if term.op in ("ite", "and", "or", "not") or not any(map(chooses_constants, term.args)):
        return None
    size = 1
    for arg in term.args:
        if arg.value is None and not chooses_constants(arg):
            return None
        size *= len(tuple(leaves(arg)))
    if size > _MOST_LEAVES:
        return None
    tree = _spread(term, (), term.args)
    return tree if term.width else _truth(tree)


def _spread(term: Term, done: tuple[Term, ...], rest: tuple[Term, ...]) -> Term:
    """The operation of a term on arguments of which the first are leaves already; 1 and 0 stand for
    true and false."""
    if rest:
        return _each(rest[0], lambda leaf: _spread(term, (*done, leaf), rest[1:]))
    value = rebuild(term, done)
    assert value.value is not None
    return value if value.width else const(value.value, 1)


def _each(choice: Term, result: Callable[[Term], Term]) -> Term:
    """The choice with something else in place of each leaf."""
    if choice.op != "ite":
        return result(choice)
    condition, then, other = choice.args
    return choose(condition, _each(then, result), _each(other, result))


def choose(condition: Term, then: Term, other: Term) -> Term:
    """`then` where a condition holds, else `other`.

    Where it is for one of smaller, equal and larger what it is for another, these two are one case.
    """
    then, other = _known(then, condition, 1), _known(other, condition, 2)
    less = other.args[0] if other.op == "ite" else condition
    if less.op in _OR_EQUAL and _same_operands(condition, less):
        smaller, larger = other.args[1:]
        if larger is then:
            return iff_else(less, smaller, larger)
        if smaller is then:
            return iff_else(binary(_OR_EQUAL[less.op], *less.args), smaller, larger)
    return iff_else(condition, then, other)


def _known(term: Term, condition: Term, branch: int) -> Term:
    """The term where a choice on the condition, or on its negation, takes a branch, 1 or 2."""
    if term.op == "ite" and term.args[0] is condition:
        return term.args[branch]
    if term.op == "ite" and term.args[0] is negate(condition):
        return term.args[3 - branch]
    return term


def _same_operands(equation: Term, less: Term) -> bool:
    """Whether an equation is one of the two terms that are compared."""
    if equation.op != "=" or equation.args[0].width != less.args[0].width:
        return False
    ours, theirs = (linear(one.args[0]).plus(linear(one.args[1]), -1) for one in (equation, less))
    return ours == theirs or ours == Linear(theirs.width, 0).plus(theirs, -1)


def _truth(tree: Term) -> Term:
    """The Boolean that a tree with the leaves 1 and 0 is."""
    if tree.op != "ite":
        return TRUE if tree.value else FALSE
    condition, *rest = tree.args
    then, other = map(_truth, rest)
    if then is TRUE:
        return disjunction((condition, other))
    if other is TRUE:
        return disjunction((negate(condition), then))
    return disjunction((conjunction((condition, then)), conjunction((negate(condition), other))))
