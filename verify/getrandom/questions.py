"""Questions to the solver about what holds on a path.

Most are asked again and again: paths share most of their facts, and do the same with variables of
other names. So answers are remembered together with what they were drawn from. That something does
not follow is remembered as values for which all facts hold and it does not.
"""

from __future__ import annotations

from collections.abc import Mapping

from verify.decide import DEFAULT_BUDGET, Answer, Decision, check, valid
from verify.terms import TRUE, Term, evaluate, negate, postorder, substitute, var, variables

type Facts = tuple[Term, ...]
type _Values = Mapping[Term, int]

_FEASIBLE = 200_000
"""Z3 resource units for whether a branch can be taken; it is followed where that is not known."""
_MOST_VALUES = 6
"""So many different values are remembered for the same facts."""
_FRESH = "@"
"""In the names of variables that are numbered."""


class Questions:
    """Asks, and remembers.

    `budget` is in Z3 resource units, `timeout` in seconds of wall time, each for one question.
    """

    def __init__(self, budget: int = DEFAULT_BUDGET, timeout: float | None = None) -> None:
        self._budget = budget
        self._timeout = timeout
        self._decisions: dict[tuple[Term, frozenset[Term]], Decision] = {}
        self._followed: dict[Term, list[frozenset[Term]]] = {}
        self._values: dict[Facts, list[_Values]] = {}
        self._variables: dict[Term, frozenset[Term]] = {}
        self.asked = 0

    def follows(self, facts: Facts, claim: Term) -> bool:
        """Whether the solver shows that a claim follows from the facts."""
        if claim.value is not None:
            return bool(claim.value)
        if claim in facts:
            return True
        if negate(claim) in facts:
            return False
        if any(some.issubset(facts) for some in self._followed.get(claim, ())):
            return True
        if any(not _holds((claim,), values) for values in self._known_values(facts)):
            return False
        for some in dict.fromkeys((self._near(facts, claim), facts)):
            decision = self._decision(some, claim)
            if decision.answer is Answer.UNSAT:
                self._followed.setdefault(claim, []).append(frozenset(some))
                return True
            if decision.answer is Answer.SAT and self._remember(facts, decision.model):
                return False
        return False

    def possible(self, facts: Facts, known: Facts = ()) -> bool:
        """Whether the facts may hold at once; True where that is not known.

        `known` are the first of them, of which that has been asked before.
        """
        if self._known_values(facts):
            return True
        new = facts[len(known) :] or facts
        near = tuple(dict.fromkeys(one for fact in new for one in self._near(facts, fact)))
        for some in dict.fromkeys((near, facts)):
            decision = self._decision(some)
            if decision.answer is Answer.UNSAT:
                return False
            if decision.answer is Answer.SAT and any(
                self._remember(facts, {**before, **decision.model})
                for before in (*self._known_values(known), {})
            ):
                return True
        return True

    def example(self, facts: Facts) -> Mapping[Term, int] | None:
        """Values for which the facts hold, where variables without one are zero; None where none
        are known."""
        self.possible(facts)
        return next(iter(self._known_values(facts)), None)

    def shown_possible(self, facts: Facts) -> bool:
        """Whether the solver shows that the facts can hold at once."""
        if self._known_values(facts):
            return True
        return check(facts, self._budget, self._timeout).answer is Answer.SAT

    def _decision(self, facts: Facts, claim: Term | None = None) -> Decision:
        """Whether the facts can hold, and a claim not; without one, whether they can hold.

        What differs in the names of fresh variables only is the same question.
        """
        terms = (TRUE if claim is None else claim, *facts)
        fresh = [one for one in postorder(terms) if one.op == "var" and _FRESH in one.name]
        names = {one: var(f"{_FRESH}{n}", one.width) for n, one in enumerate(fresh)}
        asked, *given = substitute(terms, names)
        key = asked, frozenset(given)
        if key not in self._decisions:
            self.asked += 1
            self._decisions[key] = (
                check(given, min(self._budget, _FEASIBLE), self._timeout)
                if claim is None
                else valid(given, asked, self._budget, self._timeout)
            )
        decision = self._decisions[key]
        back = {name: one for one, name in names.items()}
        model = {back.get(one, one): value for one, value in decision.model.items()}
        return Decision(decision.answer, model, decision.reason)

    def _near(self, facts: Facts, term: Term) -> Facts:
        """The facts that have a variable in common with a term. Few others matter."""
        wanted = self._variables_of(term)
        return tuple(fact for fact in facts if not wanted.isdisjoint(self._variables_of(fact)))

    def _variables_of(self, term: Term) -> frozenset[Term]:
        if term not in self._variables:
            self._variables[term] = variables([term])
        return self._variables[term]

    def _known_values(self, facts: Facts) -> list[_Values]:
        """Values for which all the facts hold; those of the longest known beginning are tried."""
        if facts not in self._values:
            size = next((n for n in range(len(facts), -1, -1) if facts[:n] in self._values), 0)
            tried = self._values.get(facts[:size], [{}])
            self._values[facts] = [one for one in tried if _holds(facts[size:], one)]
        return self._values[facts]

    def _remember(self, facts: Facts, values: _Values) -> bool:
        """Remember values, if all the facts hold for them; whether they do."""
        if not _holds(facts, values):
            return False
        known = self._known_values(facts)
        known.insert(0, values)
        del known[_MOST_VALUES:]
        return True


def _holds(terms: Facts, values: _Values) -> bool:
    """Whether all terms hold; variables without a value are zero."""
    found = evaluate(terms, values, 0)
    return all(found[term] for term in terms)
