"""Obligations become verdicts: never PROVED for want of time, or because nothing was assumed."""

from __future__ import annotations

import pytest

from tests.test_decide import HARD
from verify.options import Options
from verify.prove.obligation import Obligation
from verify.solve import Solver
from verify.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    const,
    equal,
    evaluate,
    negate,
    unsigned_less,
    var,
)
from verify.verdict import Verdict

X, Y, Z = (var(name, 32) for name in ("x", "y", "z"))
ONE = const(1, 32)
LESS = unsigned_less(X, Y)
CONTRADICTORY = (LESS, unsigned_less(Y, X))


def obligation(formula: Term, *assumptions: Term, name: str = "a/b") -> Obligation:
    return Obligation(name, "x is y", assumptions, formula, (0x400, 0x404), 3)


@pytest.mark.parametrize(
    ("formula", "assumptions", "verdict", "reason"),
    [
        (TRUE, (), Verdict.PROVED, ""),
        (TRUE, (LESS,), Verdict.PROVED, ""),
        (equal(add(X, ONE), add(ONE, X)), (), Verdict.PROVED, ""),
        (unsigned_less(X, add(Y, ONE)), (LESS, unsigned_less(Y, Z)), Verdict.PROVED, ""),
        (FALSE, (), Verdict.REFUTED, ""),
        (FALSE, (LESS,), Verdict.REFUTED, ""),
        (unsigned_less(X, add(X, ONE)), (), Verdict.REFUTED, ""),
        (TRUE, CONTRADICTORY, Verdict.VACUOUS, "its assumptions contradict each other"),
        (FALSE, CONTRADICTORY, Verdict.VACUOUS, "its assumptions contradict each other"),
        (equal(X, Y), (FALSE,), Verdict.VACUOUS, "its assumptions contradict each other"),
    ],
    ids=repr,
)
def test_verdict(
    formula: Term, assumptions: tuple[Term, ...], verdict: Verdict, reason: str
) -> None:
    decided = Solver(Options()).decide(obligation(formula, *assumptions))
    check = decided.check
    assert (check.verdict, check.reason) == (verdict, reason)
    assert (check.id, check.claim, check.instances) == ("a/b", "x is y", 3)
    assert check.instructions == (0x400, 0x404)
    assert check.seconds is not None and check.seconds >= 0
    assert decided.proved == (verdict is Verdict.PROVED)
    assert decided.candidate == (verdict is Verdict.REFUTED)
    if decided.candidate:
        values = evaluate([formula, *assumptions], decided.model, default=0)
        assert values[formula] == 0 and all(values[fact] for fact in assumptions)


def test_each_set_of_assumptions_is_checked() -> None:
    solver = Solver(Options())
    verdicts = [
        solver.decide(obligation(TRUE, *assumptions)).check.verdict
        for assumptions in ((LESS,), CONTRADICTORY, (LESS,), CONTRADICTORY)
    ]
    assert verdicts == [Verdict.PROVED, Verdict.VACUOUS] * 2


@pytest.mark.parametrize("options", [Options(budget=20_000), Options(timeout=0.1)], ids=repr)
def test_what_is_not_decided_in_time_is_unknown(options: Options) -> None:
    decided = Solver(options).decide(obligation(HARD))
    assert decided.check.verdict is Verdict.UNKNOWN
    assert decided.check.reason
    assert not decided.proved and not decided.candidate


def test_assumptions_that_cannot_be_decided_prove_nothing() -> None:
    """Nobody knows whether there are such x and y, so the proof may be about nothing."""
    decided = Solver(Options(budget=20_000)).decide(obligation(TRUE, negate(HARD)))
    assert decided.check.verdict is Verdict.UNKNOWN
    assert decided.check.reason.startswith("assumptions: ")


@pytest.mark.parametrize("jobs", [1, 3])
def test_order_and_stopping(jobs: int) -> None:
    begun: list[str] = []
    formulas = [TRUE, equal(X, X), equal(add(X, ONE), add(ONE, X)), FALSE, *[TRUE] * 8]
    obligations = [obligation(f, name=f"o{n}") for n, f in enumerate(formulas)]
    solver = Solver(Options(jobs=jobs))
    decided = solver.decide_all(obligations, lambda one: begun.append(one.id))
    assert [one.check.id for one in decided] == [o.id for o in obligations]
    assert [one.obligation for one in decided] == obligations
    verdicts = [one.check.verdict for one in decided]
    assert verdicts[:4] == [Verdict.PROVED] * 3 + [Verdict.REFUTED]
    assert len(begun) <= 3 + jobs and begun[:4] == ["o0", "o1", "o2", "o3"]
    undecided = decided[len(begun) :]
    assert undecided and all(one.check.verdict is Verdict.UNKNOWN for one in undecided)
    assert {one.check.reason for one in undecided} == {
        "not decided, since an obligation before it failed"
    }


@pytest.mark.parametrize("jobs", [1, 4])
def test_all_are_decided_when_all_hold(jobs: int) -> None:
    obligations = [obligation(equal(add(X, const(n, 32)), add(const(n, 32), X))) for n in range(9)]
    decided = Solver(Options(jobs=jobs)).decide_all(obligations, lambda _: None)
    assert [one.check.verdict for one in decided] == [Verdict.PROVED] * 9


def test_nothing_to_decide() -> None:
    assert Solver(Options()).decide_all([], lambda _: None) == []
