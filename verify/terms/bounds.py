"""Upper bounds of terms, and what follows from them.

Sums of words that are held in wider registers stay far below the register's end, however many
there are; a solver sees that only after it has followed all of them bit by bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from verify.terms.term import FALSE, Term, const, postorder, substitute


def upper_bounds(roots: Iterable[Term]) -> dict[Term, int]:
    """For each bit-vector in the graph an unsigned number that it never exceeds."""
    bounds: dict[Term, int] = {}
    for term in postorder(list(roots)):
        if term.width:
            bounds[term] = min(_bound(term, bounds), (1 << term.width) - 1)
    return bounds


def _bound(term: Term, bounds: dict[Term, int]) -> int:
    most = (1 << term.width) - 1
    args = term.args
    match term.op:
        case "const":
            return term.value or 0
        case "bvadd":
            # A sum that may wrap may be anything.
            total = sum(bounds[arg] for arg in args)
            return total if total <= most else most
        case "bvmul":
            product = 1
            for arg in args:
                product *= bounds[arg]
            return product if product <= most else most
        case "bvand":
            return min(bounds[arg] for arg in args)
        case "bvor" | "bvxor":
            return (1 << max(bounds[arg] for arg in args).bit_length()) - 1
        case "bvlshr":
            amount = args[1].value
            return bounds[args[0]] >> amount if amount is not None else bounds[args[0]]
        case "bvshl":
            amount = args[1].value
            shifted = bounds[args[0]] << amount if amount is not None else most
            return shifted if shifted <= most else most
        case "zero_extend":
            return bounds[args[0]]
        case "extract":
            high, low = term.bounds
            whole = bounds[args[0]]
            return whole >> low if whole >> high + 1 == 0 else most
        case "concat":
            value = 0
            for arg in args:
                value = value << arg.width | bounds[arg]
            return value
        case "ite":
            return max(bounds[args[1]], bounds[args[2]])
        case _:
            return most


def with_known_bounds(term: Term) -> Term:
    """The same term, with zero for every bit-vector in it that its upper bound shows to be zero,
    and with the truth for every comparison that upper bounds decide."""
    bounds = upper_bounds([term])
    known = {part: const(0, part.width) for part, most in bounds.items() if not most}
    known |= {part: FALSE for part in postorder([term]) if _is_never(part, bounds)}
    (found,) = substitute([term], known)
    return found


def _is_never(term: Term, bounds: dict[Term, int]) -> bool:
    """Whether a comparison says that a sum which does not wrap is less than one of its parts."""
    if term.op != "bvult":
        return False
    whole, part = term.args
    summands = Counter(_summands(whole))
    total = sum(bounds[one] * times for one, times in summands.items())
    return total < 1 << whole.width and not Counter(_summands(part)) - summands


def _summands(term: Term) -> list[Term]:
    found, pending = [], [term]
    while pending:
        one = pending.pop()
        if one.op == "bvadd":
            pending += one.args
        else:
            found.append(one)
    return found
