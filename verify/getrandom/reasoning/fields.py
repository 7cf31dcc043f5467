"""Terms as pieces side by side: what code makes that masks, shifts and inserts.

What is the same by different means is one term then. Leading zeros are written as an extension,
trailing ones as a shift, in which a linear form sees a multiple.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby, pairwise

from verify.terms import Term, concat, const, extract, sign_extend, zero_extend
from verify.terms.term import binary

_MOST_RUNS = 4
"""A constant with more runs of equal bits is no mask."""


def cut(term: Term, high: int, low: int) -> list[Term]:
    """Bits high..low of a term, both inclusive, as pieces of it, the most significant first."""
    return _between(pieces(term), high, low)


def pieces(term: Term) -> list[Term]:
    """A term as pieces side by side, the most significant first."""
    match term.op:
        case "concat":
            return [piece for part in term.args for piece in pieces(part)]
        case "zero_extend":
            return [const(0, term.amount), *pieces(term.args[0])]
        case "bvshl" | "bvlshr" if (amount := term.args[1].value) is not None:
            whole, width = pieces(term.args[0]), term.width
            if amount >= width:
                return [const(0, width)]
            zeros = [const(0, amount)] if amount else []
            if term.op == "bvlshr":
                return [*zeros, *_between(whole, width - 1, amount)]
            return [*_between(whole, width - 1 - amount, 0), *zeros]
    return [term]


def spliced(op: str, a: Term, b: Term) -> list[Term] | None:
    """The pieces of `bvand`, `bvor` or `bvxor` of two terms; None where one of them is made from a
    piece of each."""
    found = []
    for one, other in _aligned(a, b):
        constant, kept = (one, other) if one.value is not None else (other, one)
        if constant.value is None:
            return None
        if kept.value is not None:
            found.append(binary(op, constant, kept))
        elif constant.value == _neutral(op, constant.width):
            found.append(kept)
        elif op != "bvxor" and constant.value == _absorbing(op, constant.width):
            found.append(constant)
        else:
            return None
    return found


def joined(parts: Iterable[Term]) -> Term:
    """Pieces side by side as a term."""
    whole = concat(*parts)
    if whole.op != "concat":
        return whole
    if whole.args[0].value == 0:
        return _extended(joined(whole.args[1:]), whole.args[0].width)
    if whole.args[-1].value == 0:
        zeros = whole.args[-1].width
        rest = _extended(joined(whole.args[:-1]), zeros)
        return binary("bvshl", rest, const(zeros, whole.width))
    return whole


def widened(term: Term, amount: int) -> Term:
    """A term sign-extended by a number of bits; with zeros where its sign is one."""
    if term.op == "zero_extend":
        return _extended(term, amount)
    if term.op == "sign_extend":
        return sign_extend(term.args[0], term.amount + amount)
    return sign_extend(term, amount)


def _extended(term: Term, amount: int) -> Term:
    if term.op == "zero_extend":
        return zero_extend(term.args[0], term.amount + amount)
    return zero_extend(term, amount)


def _neutral(op: str, width: int) -> int:
    return (1 << width) - 1 if op == "bvand" else 0


def _absorbing(op: str, width: int) -> int:
    return 0 if op == "bvand" else (1 << width) - 1


def _between(whole: Iterable[Term], high: int, low: int) -> list[Term]:
    """Bits high..low of pieces side by side."""
    some = list(whole)
    position = sum(piece.width for piece in some)
    found = []
    for piece in some:
        position -= piece.width
        top, bottom = min(high - position, piece.width - 1), max(low - position, 0)
        if bottom <= top:
            found.append(extract(piece, top, bottom))
    return found


def _aligned(a: Term, b: Term) -> Iterator[tuple[Term, Term]]:
    """The pieces of two terms, cut where either is."""
    ours, theirs = ([run for piece in pieces(term) for run in _runs(piece)] for term in (a, b))
    places = {place for some in (ours, theirs) for place in accumulate(one.width for one in some)}
    for begin, end in pairwise(sorted({0, *places})):
        high, low = a.width - 1 - begin, a.width - end
        (one,), (other,) = _between(ours, high, low), _between(theirs, high, low)
        yield one, other


def _runs(piece: Term) -> list[Term]:
    """A constant as runs of equal bits, if it has few; any other term as it is."""
    if piece.value is None:
        return [piece]
    runs = [len(list(run)) for _, run in groupby(f"{piece.value:0{piece.width}b}")]
    if len(runs) > _MOST_RUNS:
        return [piece]
    ends = list(accumulate(runs))
    return [
        extract(piece, piece.width - 1 - (end - size), piece.width - end)
        for size, end in zip(runs, ends, strict=True)
    ]
