"""Whether a number is zero, as code without branches asks: by a bit of its count of leading zeros.

The count is a choice with a case for each bit. Of its bits, the highest is set in one case only.
"""

from __future__ import annotations

from verify.terms import (
    FALSE,
    TRUE,
    Term,
    conjunction,
    const,
    disjunction,
    iff_else,
    negate,
)


def zero_asked(term: Term) -> Term | None:
    """A choice equal to a term that keeps one bit of something, where that bit is the one that a
    count of leading zeros has for zero; None for any other term."""
    if term.op != "bvand":
        return None
    whole, mask = term.args if term.args[1].value is not None else term.args[::-1]
    if not mask.value or mask.value & (mask.value - 1):
        return None
    found = _bit(whole, mask.value.bit_length() - 1)
    return None if found is None else iff_else(found, mask, const(0, term.width))


def _bit(term: Term, number: int) -> Term | None:
    """Whether a bit is set; None where no count says so."""
    if term.value is not None:
        return TRUE if term.value >> number & 1 else FALSE
    match term.op:
        case "bvor" | "bvand":
            parts = [_bit(arg, number) for arg in term.args]
            known = [one for one in parts if one is not None]
            join = disjunction if term.op == "bvor" else conjunction
            return join(known) if len(known) == len(parts) else None
        case "bvshl" | "bvlshr":
            return _shifted(term, number)
        case "concat":
            for arg in reversed(term.args):
                if number < arg.width:
                    return _bit(arg, number)
                number -= arg.width
        case "extract":
            return _bit(term.args[0], number + term.bounds[1])
        case "zero_extend":
            (arg,) = term.args
            return _bit(arg, number) if number < arg.width else FALSE
        case "ite":
            return _of_count(term, number)
    return None


def _shifted(term: Term, number: int) -> Term | None:
    whole, by = term.args
    if by.value is None:
        return None
    number += by.value if term.op == "bvlshr" else -by.value
    return _bit(whole, number) if 0 <= number < whole.width else FALSE


def _of_count(term: Term, number: int) -> Term | None:
    """That none of the conditions of a choice holds, if the bit is set in its last case only."""
    none = []
    while term.op == "ite":
        condition, then, term = term.args
        if then.value is None or then.value >> number & 1:
            return None
        none.append(negate(condition))
    last = term.value is not None and term.value >> number & 1
    return conjunction(none) if last else None
