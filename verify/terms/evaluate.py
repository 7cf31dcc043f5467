"""Concrete values of terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from verify.terms.term import BINARY, COMPARE, Term, postorder, signed


def _value(term: Term, values: Mapping[Term, int]) -> int:
    args = [values[arg] for arg in term.args]
    match term.op:
        case "extract":
            high, low = term.bounds
            return (args[0] >> low) & ((1 << (high - low + 1)) - 1)
        case "concat":
            result = 0
            for part, value in zip(term.args, args, strict=True):
                result = (result << part.width) | value
            return result
        case "zero_extend":
            return args[0]
        case "sign_extend":
            return signed(args[0], term.args[0].width) & ((1 << term.width) - 1)
        case "rotate_left":
            amount, width = term.amount, term.width
            return ((args[0] << amount) | (args[0] >> (width - amount))) & ((1 << width) - 1)
        case "ite":
            return args[1] if args[0] else args[2]
        case "not":
            return 1 - args[0]
        case "bvnot":
            return args[0] ^ ((1 << term.width) - 1)
        case "and":
            return int(all(args))
        case "or":
            return int(any(args))
        case _:
            raise ValueError(f"no value for operator {term.op}")


def evaluate(
    roots: Iterable[Term], assignment: Mapping[Term, int], default: int | None = None
) -> dict[Term, int]:
    """The unsigned value of every term below the roots (0 or 1 for a Boolean).

    `assignment` gives the values of variables (and may fix any other term); a variable that it
    lacks takes `default`, or raises KeyError when that is None.
    """
    values = dict(assignment)
    for term in postorder(roots):
        if term in values:
            continue
        op = term.op
        if op == "const":
            assert isinstance(term.data, int)
            values[term] = term.data
        elif op == "var":
            if default is None:
                raise KeyError(term.name)
            values[term] = default & ((1 << term.width) - 1)
        elif (fold := BINARY.get(op)) is not None:
            values[term] = fold(values[term.args[0]], values[term.args[1]], term.width)
        elif (test := COMPARE.get(op)) is not None:
            left, right = term.args
            values[term] = int(test(values[left], values[right], left.width or 1))
        else:
            values[term] = _value(term, values)
    return values
