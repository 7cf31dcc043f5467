"""Questions to the solver about what holds on a path."""

from __future__ import annotations

from collections.abc import Mapping

from verify.decide import DEFAULT_BUDGET, Answer, check, valid
from verify.terms import Term, evaluate, negate

type Facts = tuple[Term, ...]

_FEASIBLE = 200_000
"""Z3 resource units for whether a branch can be taken; it is followed where that is not known."""


class Questions:
    """Asks, and remembers under which facts a claim was found to follow: it follows from more facts
    as well.

    `budget` is in Z3 resource units, `timeout` in seconds of wall time, each for one question.
    """

    def __init__(self, budget: int = DEFAULT_BUDGET, timeout: float | None = None) -> None:
        self._budget = budget
        self._timeout = timeout
        self._followed: dict[Term, list[Facts]] = {}
        self._models: dict[Facts, Mapping[Term, int]] = {}
        self.asked = 0

    def follows(self, facts: Facts, claim: Term) -> bool:
        """Whether the solver shows that a claim follows from the facts."""
        if claim.value is not None:
            return bool(claim.value)
        if claim in facts:
            return True
        if negate(claim) in facts:
            return False
        known = self._followed.setdefault(claim, [])
        if any(facts[: len(before)] == before for before in known):
            return True
        self.asked += 1
        if valid(facts, claim, self._budget, self._timeout).answer is not Answer.UNSAT:
            return False
        known.append(facts)
        return True

    def possible(self, facts: Facts, known: Facts = ()) -> bool:
        """Whether the facts may hold at once; True where that is not known.

        `known` are those that have been asked about before; what made them hold is tried first.
        """
        model = self._models.get(known, {})
        values = evaluate(facts, model, 0)
        if all(values[fact] for fact in facts):
            self._models[facts] = model
            return True
        self.asked += 1
        decision = check(facts, min(self._budget, _FEASIBLE), self._timeout)
        if decision.answer is Answer.SAT:
            self._models[facts] = decision.model
        return decision.answer is not Answer.UNSAT

    def example(self, facts: Facts) -> Mapping[Term, int] | None:
        """Values under which the facts hold; None where none are found."""
        if facts not in self._models and self.possible(facts) and facts not in self._models:
            return None
        return self._models.get(facts)

    def shown_possible(self, facts: Facts) -> bool:
        """Whether the solver shows that the facts can hold at once."""
        return check(facts, self._budget, self._timeout).answer is Answer.SAT
