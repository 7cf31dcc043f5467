"""Which variables a value may depend on.

It depends on what it is computed from, but for bits that cannot come through: of a sum, a
difference, a product, or what a mask leaves, the last bits follow from the last bits of the
operands. So what code has inserted a byte into, and computes with, does not count where only that
byte of the result is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verify.terms import Term

_FROM_LAST_BITS = ("bvadd", "bvsub", "bvmul", "bvand", "bvor", "bvxor", "bvnot")


def dependences(values: Iterable[Term]) -> frozenset[Term]:
    """The variables on which one of the values may depend."""
    found: set[Term] = set()
    seen: set[tuple[Term, int]] = set()
    pending = [(value, max(value.width, 1)) for value in values]
    while pending:
        wanted = pending.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        if wanted[0].op == "var":
            found.add(wanted[0])
        else:
            pending += _operands(*wanted)
    return frozenset(found)


def _operands(term: Term, bits: int) -> Iterator[tuple[Term, int]]:
    """What the last bits of a term follow from: each argument with how many of its last bits."""
    args = term.args
    match term.op:
        case "extract":
            high, low = term.bounds
            yield args[0], min(low + bits, high + 1)
        case "concat":
            for part in reversed(args):
                if bits <= 0:
                    return
                yield part, min(bits, part.width)
                bits -= part.width
        case "zero_extend":
            yield args[0], min(bits, args[0].width)
        case "sign_extend":
            yield args[0], min(bits, args[0].width)
        case "bvshl" if (amount := args[1].value) is not None:
            if bits > amount:
                yield args[0], bits - amount
        case "bvlshr" if (amount := args[1].value) is not None:
            if amount < term.width:
                yield args[0], min(bits + amount, term.width)
        case op if op in _FROM_LAST_BITS:
            for arg in args:
                yield arg, bits
        case "ite":
            yield args[0], 1
            yield args[1], bits
            yield args[2], bits
        case _:
            for arg in args:
                yield arg, max(arg.width, 1)
