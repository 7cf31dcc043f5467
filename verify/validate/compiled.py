"""Terms as Python functions, for evaluating the same ones thousands of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verify.terms import Term, postorder
from verify.terms.term import BINARY, COMPARE

_INLINE = {
    "bvadd": "({} + {}) & {mask}",
    "bvsub": "({} - {}) & {mask}",
    "bvmul": "({} * {}) & {mask}",
    "bvand": "{} & {}",
    "bvor": "{} | {}",
    "bvxor": "{} ^ {}",
    "=": "{} == {}",
    "bvult": "{} < {}",
    "bvule": "{} <= {}",
}
"""Operators that Python has; the others are called."""


@dataclass(frozen=True)
class Compiled:
    """A function of the values of `variables` that returns those of the terms in their order.

    Values are as in `verify.terms.evaluate`, but that a Boolean may be True or False.
    """

    variables: tuple[Term, ...]
    function: Callable[[Sequence[int]], tuple[int, ...]]

    def __call__(self, values: Mapping[Term, int]) -> tuple[int, ...]:
        """The terms' values; raises KeyError where that of a variable is missing."""
        return self.function([values[variable] for variable in self.variables])


def compiled(roots: Sequence[Term]) -> Compiled:
    """The function of some terms; raises ValueError for an unknown operator."""
    names: dict[Term, str] = {}
    variables: list[Term] = []
    lines = ["def function(v):"]
    for term in postorder(roots):
        if term.value is not None:
            names[term] = str(term.value)
            continue
        names[term] = f"t{len(names)}"
        if term.op == "var":
            expression = f"v[{len(variables)}]"
            variables.append(term)
        else:
            expression = _expression(term, [names[arg] for arg in term.args])
        lines.append(f" {names[term]} = {expression}")
    lines.append(f" return ({''.join(f'{names[root]}, ' for root in roots)})")
    space: dict[str, Any] = {"apply": {**BINARY, **COMPARE}}
    exec("\n".join(lines), space)  # noqa: S102  # generated from terms alone
    return Compiled(tuple(variables), space["function"])


def _expression(term: Term, args: Sequence[str]) -> str:
    """Python for one operator on the names of its arguments."""
    op, mask = term.op, (1 << term.width) - 1
    inline = _INLINE.get(op)
    if inline is not None:
        return inline.format(*args, mask=mask)
    if op in ("bvshl", "bvlshr") and (amount := term.args[1].value) is not None:
        # By far the most common: a constant amount.
        shifted = f"({args[0]} << {amount}) & {mask}" if op == "bvshl" else f"{args[0]} >> {amount}"
        return shifted if amount < term.width else "0"
    match op:
        case "extract":
            high, low = term.bounds
            return f"({args[0]} >> {low}) & {(1 << (high - low + 1)) - 1}"
        case "concat":
            parts, below = [], term.width
            for arg, name in zip(term.args, args, strict=True):
                below -= arg.width
                parts.append(f"({name} << {below})")
            return " | ".join(parts)
        case "zero_extend":
            return args[0]
        case "sign_extend":
            sign = 1 << (term.args[0].width - 1)
            return f"(({args[0]} ^ {sign}) - {sign}) & {mask}"
        case "rotate_left":
            left, right = term.amount, term.width - term.amount
            return f"(({args[0]} << {left}) | ({args[0]} >> {right})) & {mask}"
        case "ite":
            return f"{args[1]} if {args[0]} else {args[2]}"
        case "not":
            return f"1 - {args[0]}"
        case "bvnot":
            return f"{args[0]} ^ {mask}"
        case "and" | "or":
            return {"and": " & ", "or": " | "}[op].join(args)
    if op not in BINARY and op not in COMPARE:
        raise ValueError(f"no function for operator {op}")
    return f"apply[{op!r}]({args[0]}, {args[1]}, {term.args[0].width or 1})"
