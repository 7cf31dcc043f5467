"""A Boolean of several comparisons of the same two terms, as one comparison.

Condition codes tell less, equal and greater apart; what a branch asks for are some of the three.
"""

from __future__ import annotations

from collections.abc import Iterator

from verify.terms import (
    FALSE,
    TRUE,
    Linear,
    Term,
    binary,
    equal,
    linear,
    negate,
    substitute,
)

_JOINS = ("and", "or", "not")
_EQUATION = (False, True, False)
_ORDERS = {
    "bvult": (True, False, False),
    "bvule": (True, True, False),
    "bvslt": (True, False, False),
    "bvsle": (True, True, False),
}
"""Whether each holds where the first term is less than, equal to, and greater than the second."""
_STRICT = {"bvult": "bvult", "bvule": "bvult", "bvslt": "bvslt", "bvsle": "bvslt"}
_OR_EQUAL = {"bvult": "bvule", "bvslt": "bvsle"}


def one_comparison(term: Term) -> Term:
    """The term, or an equal one that compares once."""
    atoms = tuple(_atoms(term))
    first = next((atom for atom in atoms if atom.op in _ORDERS), None)
    if first is None or len(atoms) < 2:
        return term
    strict, (a, b) = _STRICT[first.op], first.args
    held = [_held(atom, strict, a, b) for atom in atoms]
    cases = []
    for case in range(3):
        known = {
            atom: TRUE if one[case] else FALSE
            for atom, one in zip(atoms, held, strict=True)
            if one is not None
        }
        (value,) = substitute([term], known)
        if value.value is None:
            return term
        cases.append(bool(value.value))
    less, at_most = binary(strict, a, b), binary(_OR_EQUAL[strict], a, b)
    return {
        (True, True, True): TRUE,
        (True, True, False): at_most,
        (True, False, True): negate(equal(a, b)),
        (True, False, False): less,
        (False, True, True): negate(less),
        (False, True, False): equal(a, b),
        (False, False, True): negate(at_most),
        (False, False, False): FALSE,
    }[cases[0], cases[1], cases[2]]


def _atoms(term: Term) -> Iterator[Term]:
    """What a Boolean joins; each once."""
    found: dict[Term, None] = {}
    pending = [term]
    while pending:
        part = pending.pop()
        if part.op in _JOINS:
            pending += part.args
        else:
            found[part] = None
    yield from found


def _held(atom: Term, strict: str, a: Term, b: Term) -> tuple[bool, ...] | None:
    """Whether an atom holds where a is less than, equal to and greater than b; None where it says
    something else."""
    if atom.op == "=" and atom.args[0].width == a.width:
        ours, theirs = (linear(one).plus(linear(other), -1) for one, other in (atom.args, (a, b)))
        if ours in (theirs, Linear(a.width, 0).plus(theirs, -1)):
            return _EQUATION
    if _STRICT.get(atom.op) != strict:
        return None
    if atom.args == (a, b):
        return _ORDERS[atom.op]
    return _ORDERS[atom.op][::-1] if atom.args == (b, a) else None
