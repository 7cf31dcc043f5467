"""Questions to the solver about what holds on a path.

Most are asked again and again: paths share most of their facts, and do the same with variables of
other names. So answers are remembered together with what they were drawn from. That something does
not follow is remembered as values for which all facts hold and it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from zlib import crc32

from verify.decide import DEFAULT_BUDGET, Answer, Decision, check, valid
from verify.terms import TRUE, Term, evaluate, negate, postorder, substitute, var, variables

type Facts = tuple[Term, ...]
type _Values = Mapping[Term, int]
type _Place = tuple[Term, tuple[int, ...]]
"""A term with its own variables numbered, and which of those of a question they are."""

_FEASIBLE = 200_000
"""Z3 resource units for whether a branch can be taken; it is followed where that is not known."""
FRESH = "@"
"""In the names of variables that are nowhere else."""
_MOST_VALUES = 6
"""So many different values are remembered for the same facts."""


class Questions:
    """Asks, and remembers.

    `budget` is in Z3 resource units, `timeout` in seconds of wall time, each for one question.
    """

    def __init__(self, budget: int = DEFAULT_BUDGET, timeout: float | None = None) -> None:
        self._budget = budget
        self._timeout = timeout
        self._decisions: dict[tuple[_Place, frozenset[_Place]], Decision] = {}
        self._followed: dict[Term, list[frozenset[Term]]] = {}
        self._values: dict[Facts, list[_Values]] = {}
        self._variables: dict[Term, frozenset[Term]] = {}
        self._alike: dict[Term, tuple[Term, tuple[Term, ...]]] = {}
        self._shapes: dict[Term, int] = {}
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
        for some in dict.fromkeys(self._chosen(facts, claim)):
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
        for some in dict.fromkeys((near, self._connected(facts, new), facts)):
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

        What differs in the names of variables only is the same question: they are numbered in an
        order that does not depend on them.
        """
        terms = (TRUE if claim is None else claim, *sorted(facts, key=self._shape))
        numbers: dict[Term, int] = {}
        places = []
        for term in terms:
            alike, held = self._nameless(term)
            places.append((alike, tuple(numbers.setdefault(one, len(numbers)) for one in held)))
        key = places[0], frozenset(places[1:])
        if key not in self._decisions:
            self.asked += 1
            asked, *given = substitute(terms, {one: _named(n, one) for one, n in numbers.items()})
            self._decisions[key] = (
                check(given, min(self._budget, _FEASIBLE), self._timeout)
                if claim is None
                else valid(given, asked, self._budget, self._timeout)
            )
        decision = self._decisions[key]
        back = {_named(n, one): one for one, n in numbers.items()}
        model = {back[one]: value for one, value in decision.model.items()}
        return Decision(decision.answer, model, decision.reason)

    def _nameless(self, term: Term) -> tuple[Term, tuple[Term, ...]]:
        """A term with its variables numbered, and these in the order of their numbers."""
        if term not in self._alike:
            held = tuple(one for one in postorder([term]) if one.op == "var")
            (alike,) = substitute([term], {one: _named(n, one) for n, one in enumerate(held)})
            self._alike[term] = alike, held
        return self._alike[term]

    def _shape(self, term: Term) -> int:
        """A number that is the same for terms that differ in the names of variables only."""
        shapes = self._shapes
        if term not in shapes:
            for part in postorder([term]):
                if part not in shapes:
                    data = None if part.op == "var" else part.data
                    content = part.op, part.width, data, *(shapes[arg] for arg in part.args)
                    shapes[part] = crc32(repr(content).encode())
        return shapes[term]

    def _near(self, facts: Facts, term: Term) -> Facts:
        """The facts that have a variable in common with a term. Few others matter."""
        wanted = self._variables_of(term)
        return tuple(fact for fact in facts if not wanted.isdisjoint(self._variables_of(fact)))

    def _chosen(self, facts: Facts, claim: Term) -> Iterator[Facts]:
        """Facts to show a claim from: fewer ones that may do at first, all of them at last. What
        follows from few, follows on many other paths as well."""
        held = self._variables_of(claim)
        few = tuple(fact for fact in facts if self._variables_of(fact) <= held)
        if few:
            yield few
        yield from self._first(facts, claim)
        yield self._near(facts, claim)
        yield facts

    def _first(self, facts: Facts, claim: Term) -> Iterator[Facts]:
        """The near facts up to the last that says something of a variable of the claim that was
        met on the path: what comes later is another path's, for which it follows as well."""
        fresh = {one for one in self._variables_of(claim) if FRESH in one.name}
        last = max(
            (n for n, fact in enumerate(facts) if fresh & self._variables_of(fact)), default=-1
        )
        if last >= 0:
            yield self._near(facts[: last + 1], claim)

    def _connected(self, facts: Facts, some: Facts) -> Facts:
        """The facts that have to do with some of them, be it by way of others. Values for which
        these hold leave open what others hold for."""
        wanted: set[Term] = set().union(*map(self._variables_of, some))
        found: set[Term] = set()
        while True:
            more = [one for one in facts if one not in found and wanted & self._variables_of(one)]
            if not more:
                return tuple(one for one in facts if one in found)
            found.update(more)
            wanted.update(*map(self._variables_of, more))

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


def _named(number: int, variable: Term) -> Term:
    """The variable of a number, in place of another of the same width."""
    return var(f"v{number}", variable.width)


def _holds(terms: Facts, values: _Values) -> bool:
    """Whether all terms hold; variables without a value are zero."""
    found = evaluate(terms, values, 0)
    return all(found[term] for term in terms)
