"""Bits of a node that are plainly zero."""

from __future__ import annotations

import re

from verify.evidence.check_terms import Node

_DEPTH = 6
_LITERAL = re.compile(r"\(_ bv(\d+) \d+\)")


def literal(node: Node) -> int | None:
    """The value of a constant bit-vector, None for anything else."""
    found = _LITERAL.fullmatch(node.op)
    return int(found[1]) if found else None


def are_zero(node: Node, high: int, low: int, depth: int = _DEPTH) -> bool:
    """Whether bits high..low are zero for every assignment; False where that takes more to see."""
    value = literal(node)
    if value is not None:
        return not value >> low & (1 << high - low + 1) - 1
    if not depth or not node.args:
        return False
    first, *others = node.args

    def inside(arg: Node, top: int, bottom: int) -> bool:
        return bottom > top or are_zero(arg, top, bottom, depth - 1)

    match node.op.removeprefix("(_ ").removesuffix(")").split():
        case ["zero_extend", _]:
            return inside(first, min(high, first.width - 1), low)
        case ["extract", _, offset]:
            return inside(first, high + int(offset), low + int(offset))
        case ["concat"]:
            (lower,) = others
            upper = max(low, lower.width) - lower.width
            return inside(first, high - lower.width, upper) and inside(
                lower, min(high, lower.width - 1), low
            )
        case ["bvand"]:
            return any(inside(arg, high, low) for arg in node.args)
        case ["bvor"]:
            return all(inside(arg, high, low) for arg in node.args)
        case ["bvshl" | "bvlshr" as op]:
            amount = literal(others[0])
            if amount is None:
                return False
            by = -amount if op == "bvshl" else amount
            return inside(first, min(high + by, first.width - 1), max(low + by, 0))
    return False
