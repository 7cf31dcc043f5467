"""Whether a set of terms can hold at once: the one door to the solver.

Each query goes to a fresh, non-incremental solver, so that no assertion of another can reach it;
its budget is counted in the solver's own resource units, so that it does not depend on the
machine.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Any

from verify.terms import (
    Term,
    conjunction,
    evaluate,
    negate,
    postorder,
    to_z3,
    variables,
    with_known_bounds,
)

DEFAULT_BUDGET = 2_000_000
"""Z3 resource units (`rlimit`) for one query."""
ALL_SPENT = "the solver's budget for all queries together is used up"
_SAMPLES = 3
_DEEP = 400
_CONTEXT_QUERIES = 64


class Answer(Enum):
    """What a solver says of a conjunction."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Decision:
    """An answer; with SAT the values of the free variables, with UNKNOWN the solver's reason."""

    answer: Answer
    model: Mapping[Term, int] = field(default_factory=dict)
    reason: str = ""


def check(
    assertions: Iterable[Term], budget: int = DEFAULT_BUDGET, timeout: float | None = None
) -> Decision:
    """Whether all Boolean terms can hold at once.

    `budget` is in Z3 resource units, `timeout` in seconds of wall time (None: no limit). What
    `start_afresh` left for all queries together bounds this one, too.
    """
    import z3

    formula = conjunction(assertions)
    if formula.value is not None:
        return Decision(Answer.SAT if formula.value else Answer.UNSAT)
    if (lucky := _sampled(formula)) is not None:
        return Decision(Answer.SAT, lucky)
    left = getattr(_local, "left", None)
    if exhausted():
        return Decision(Answer.UNKNOWN, reason=ALL_SPENT)
    context = _context()
    solver = z3.SolverFor("QF_BV", ctx=context)
    solver.set("rlimit", budget if left is None else min(budget, left))
    if timeout is not None:
        solver.set("timeout", max(1, int(1000 * timeout)))
    solver.add(*to_z3([formula], context))
    answer = solver.check()
    if left is not None:
        _local.left = left - _spent(solver)
    if answer == z3.unsat:
        return Decision(Answer.UNSAT)
    if answer == z3.unknown:
        if "interrupted" in solver.reason_unknown():
            # Z3 takes the signal of a Ctrl-C for itself.
            raise KeyboardInterrupt
        return Decision(Answer.UNKNOWN, reason=solver.reason_unknown())
    model = solver.model()
    free = list(variables([formula]))
    values = {}
    for term, expression in zip(free, to_z3(free, context), strict=True):
        value = model.eval(expression, model_completion=True)
        values[term] = int(z3.is_true(value)) if not term.width else value.as_long()
    return Decision(Answer.SAT, values)


_local = threading.local()


def start_afresh(budget: int | None = None) -> None:
    """Let the next query of this thread begin a new Z3 context, so that what follows does not
    depend on what was asked before. `budget` is what all queries together may take from then on,
    in Z3 resource units; None: no limit."""
    _local.queries, _local.left = _CONTEXT_QUERIES, budget


def exhausted() -> bool:
    """Whether the queries of this thread have taken what `start_afresh` allowed them."""
    left = getattr(_local, "left", None)
    return left is not None and left <= 0


def _spent(solver: Any) -> int:
    """The resource units of the last query; the solver counts those of its context."""
    before: int = _local.counted
    _local.counted = next((n for name, n in solver.statistics() if name == "rlimit count"), before)
    return int(_local.counted) - before


def _context() -> Any:
    """The Z3 context of this thread, replaced before it grows old: making one takes longer than
    most queries."""
    import z3

    if getattr(_local, "queries", _CONTEXT_QUERIES) >= _CONTEXT_QUERIES:
        _local.context, _local.queries, _local.counted = z3.Context(), 0, 0
    _local.queries += 1
    return _local.context


def _sampled(formula: Term, fixed: Mapping[Term, int] | None = None) -> dict[Term, int] | None:
    """Values for which the formula holds, if a few random ones do: a wrong claim about deep
    terms is refuted at once, where a solver would search. `fixed` variables keep their value."""
    free = sorted(variables([formula]), key=lambda term: term.name)
    generator = random.Random(len(free))
    for _ in range(_SAMPLES):
        values = {term: generator.getrandbits(max(term.width, 1)) for term in free}
        values |= {term: value for term, value in (fixed or {}).items() if term in values}
        if evaluate([formula], values)[formula]:
            return values
    return None


def valid(
    assumptions: Iterable[Term],
    claim: Term,
    budget: int = DEFAULT_BUDGET,
    timeout: float | None = None,
) -> Decision:
    """UNSAT when the claim follows from the assumptions; SAT with a model where it fails."""
    assumptions = tuple(assumptions)
    if claim.value is None and _is_deep(claim):
        claim = with_known_bounds(claim)
        possible = check(assumptions, budget, timeout)
        if (lucky := _sampled(negate(claim), possible.model)) is not None:
            return Decision(Answer.SAT, {**possible.model, **lucky})
    return check((*assumptions, negate(claim)), budget, timeout)


def _is_deep(claim: Term) -> bool:
    return sum(1 for _ in islice(postorder([claim]), _DEEP)) == _DEEP
