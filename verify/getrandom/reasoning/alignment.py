"""Pointers that code rounds down to a multiple of a word, case by case.

Compilers fill memory in words from the first aligned one on. Where the pointer is rounded down to,
counted from where it points, is a choice by its lowest bits: each case is an address that is known.
"""

from __future__ import annotations

from verify.terms import (
    Linear,
    Term,
    const,
    equal,
    extract,
    iff_else,
    linear,
    subtract,
)

_MOST_BITS = 3


def by_cases(term: Term, pointers: frozenset[Term]) -> Term | None:
    """A term equal to one that rounds down a pointer, or that takes the low part of a sum with a
    pointer in it; None for any other."""
    if term.op == "bvand":
        return _rounded_down(term, pointers)
    if term.op == "extract" and term.bounds[1] == 0:
        return _low_part(term, pointers)
    return None


def _low_part(term: Term, pointers: frozenset[Term]) -> Term | None:
    """The low part of a sum is the sum of the low parts."""
    form = linear(term.args[0])
    if pointers.isdisjoint(form.coefficients) or form == linear(next(iter(form.coefficients))):
        return None
    total = Linear(term.width, form.constant)
    for one, factor in form.coefficients.items():
        total = total.plus(linear(extract(one, *term.bounds)), factor)
    return total.term()


def _rounded_down(term: Term, pointers: frozenset[Term]) -> Term | None:
    """A sum of one of the pointers, or of its low part, and a constant, with at most 3 of its
    lowest bits cleared."""
    whole, mask = term.args if term.args[1].value is not None else term.args[::-1]
    bits = _cleared(mask)
    if bits is None:
        return None
    form = linear(whole)
    if len(form.coefficients) != 1:
        return None
    ((start, factor),) = form.coefficients.items()
    pointer = start.args[0] if start.op == "extract" and start.bounds[1] == 0 else start
    if pointer not in pointers or factor != 1:
        return None
    size = 1 << bits
    lowest = extract(pointer, bits - 1, 0)
    over = const((form.constant + size - 1) % size, term.width)
    for case in range(size - 1):
        beyond = const((form.constant + case) % size, term.width)
        over = iff_else(equal(lowest, const(case, bits)), beyond, over)
    return subtract(form.term(), over)


def _cleared(mask: Term) -> int | None:
    """How many of the lowest bits a mask clears, and nothing else; None if that is not so."""
    if mask.value is None:
        return None
    cleared = ~mask.value & (1 << mask.width) - 1
    bits = cleared.bit_length()
    return bits if cleared == (1 << bits) - 1 and 0 < bits <= _MOST_BITS else None
