"""Bounds on the number of an iteration, as the comparisons of a loop suggest them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from verify.terms import (
    FALSE,
    Linear,
    Term,
    binary,
    const,
    equal,
    linear,
    postorder,
    subtract,
    unsigned_less_equal,
    variables,
)
from verify.terms.term import COMPARE


@dataclass(frozen=True)
class Equation:
    """A comparison that says something of rest + factor * number. `guard` is the comparison."""

    guard: Term
    factor: int

    def of(self, rest: Term, number: Term) -> tuple[Term, Term]:
        """That the sum is zero, and the bound on the number that this suggests."""
        whole = linear(rest).plus(linear(number), self.factor).term()
        most = rest if self.factor < 0 else subtract(const(0, rest.width), rest)
        shift = const(abs(self.factor).bit_length() - 1, rest.width)
        if shift.value:
            most = binary("bvlshr", most, shift)
        return equal(whole, const(0, rest.width)), unsigned_less_equal(number, most)


def _shifted(form: Linear, by: int) -> Linear:
    return form.plus(Linear(form.width, by))


def candidates(guards: set[Term], number: Term) -> Iterator[tuple[Term, Equation]]:
    """Bounds on the number of an iteration that comparisons suggest."""
    for part in postorder(sorted(guards, key=repr)):
        if part.op not in COMPARE or part.args[0].width != number.width:
            continue
        left, right = map(linear, part.args)
        for form in (left.plus(right, -1), left, right):
            factor = form.coefficients.get(number, 0)
            rest = form.without(number)
            power = abs(factor) & (abs(factor) - 1) == 0
            if not factor or not power or number in variables(rest.coefficients):
                continue
            whole = equal(form.term(), const(0, number.width))
            equation = Equation(part if part is whole else FALSE, factor)
            yield equation.of(rest.term(), number)[1], equation
            if part.op != "=":
                # What the order allows of this iteration, it allows of one more behind it.
                for more in (abs(factor), abs(factor) - 1):
                    later = _shifted(rest, more if factor < 0 else -more)
                    yield equation.of(later.term(), number)[1], equation
