"""Obligations in, verdicts out.

An obligation is PROVED when its assumptions can hold and the negation of its formula cannot hold
with them. A model of the negation is only a candidate for a refutation: what is REFUTED is decided
by executing the real bytes (`verify.refute`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from verify.decide import Answer, Decision, check, valid
from verify.options import Options
from verify.prove.obligation import Obligation
from verify.terms import Term
from verify.verdict import Check, Verdict


@dataclass(frozen=True)
class Decided:
    """An obligation with its check, and with the model where its formula fails."""

    obligation: Obligation
    check: Check
    model: Mapping[Term, int] = field(default_factory=dict)

    @property
    def proved(self) -> bool:
        """Whether the obligation holds and is not vacuous."""
        return self.check.verdict is Verdict.PROVED

    @property
    def candidate(self) -> bool:
        """Whether a solver found values for which the formula fails."""
        return self.check.verdict is Verdict.REFUTED


class Solver:
    """Decides obligations; each set of assumptions is checked for contradictions once."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._possible: dict[frozenset[Term], Decision] = {}

    def decide_all(
        self, obligations: Iterable[Obligation], begins: Callable[[Obligation], None]
    ) -> list[Decided]:
        """The decisions in the order of the obligations, up to the first that is not PROVED.

        What follows on a failure is UNKNOWN, not decided: its formulas rest on the failed ones
        and can be as deep as the whole function. `begins` is called before each decision.
        """
        jobs = self._options.jobs
        pending = list(obligations)
        decided: list[Decided] = []

        def one(obligation: Obligation) -> Decided:
            begins(obligation)
            return self.decide(obligation)

        with ThreadPoolExecutor(jobs) as pool:
            while pending and all(item.proved for item in decided[-jobs:]):
                batch, pending = pending[:jobs], pending[jobs:]
                decided += pool.map(one, batch) if jobs > 1 else map(one, batch)
        return decided + [Decided(obligation, _not_decided(obligation)) for obligation in pending]

    def decide(self, obligation: Obligation) -> Decided:
        """Decide one obligation."""
        start = time.perf_counter()
        options = self._options
        decision = valid(
            obligation.assumptions, obligation.formula, options.budget, options.timeout
        )
        verdict, reason = _VERDICTS[decision.answer], decision.reason
        if decision.answer is Answer.UNSAT:
            possible = self._assumptions(obligation.assumptions)
            if possible.answer is Answer.UNSAT:
                verdict, reason = Verdict.VACUOUS, "its assumptions contradict each other"
            elif possible.answer is Answer.UNKNOWN:
                verdict, reason = Verdict.UNKNOWN, f"assumptions: {possible.reason}"
        result = Check(
            obligation.id,
            obligation.claim,
            verdict,
            time.perf_counter() - start,
            obligation.instances,
            obligation.instructions,
            reason,
        )
        return Decided(obligation, result, decision.model)

    def _assumptions(self, assumptions: tuple[Term, ...]) -> Decision:
        key = frozenset(assumptions)
        if key not in self._possible:
            self._possible[key] = check(assumptions, self._options.budget, self._options.timeout)
        return self._possible[key]


def _not_decided(obligation: Obligation) -> Check:
    return Check(
        obligation.id,
        obligation.claim,
        Verdict.UNKNOWN,
        0.0,
        obligation.instances,
        obligation.instructions,
        "not decided, since an obligation before it failed",
    )


_VERDICTS = {
    Answer.UNSAT: Verdict.PROVED,
    Answer.SAT: Verdict.REFUTED,
    Answer.UNKNOWN: Verdict.UNKNOWN,
}
