"""Proofs of unsatisfiability that do not rest on a solver's word.

A question is turned into clauses by Z3 (its tactics `simplify`, `bit-blast` and `tseitin-cnf`),
CaDiCaL writes a DRAT proof that they contradict each other, and dratify checks it. What is trusted
is that Z3's clauses say no more than the question; where its simplifier leaves nothing but the
empty clause, that is all there is.
"""

from __future__ import annotations

from enum import Enum

_TACTICS = ("simplify", "bit-blast", "tseitin-cnf")


class Proof(Enum):
    """What became of a question whose answer is claimed to be unsat."""

    CHECKED = "checked"
    """A DRAT proof was written and checked."""
    REWRITTEN = "rewritten"
    """Z3's simplifier makes the empty clause of it, so that there is nothing left to prove."""
    FAILED = "failed"
    """The clauses can be met, or the proof is not accepted."""


def missing() -> str:
    """The package that proofs need and that is not installed, or nothing."""
    from importlib.util import find_spec

    needed = {"dratify": "dratify", "pysat": "python-sat"}
    return next((package for module, package in needed.items() if find_spec(module) is None), "")


def _clauses(question: str) -> str:
    """The question as clauses in DIMACS format."""
    import z3

    context = z3.Context()
    goal = z3.Goal(ctx=context)
    goal.add(z3.parse_smt2_string(question, ctx=context))
    (found,) = z3.Then(*(z3.Tactic(name, ctx=context) for name in _TACTICS))(goal)
    return str(found.dimacs(include_names=False))


def refute(question: str) -> Proof:
    """Prove that a question has no model, and check the proof."""
    from dratify import check_proof, parse_dimacs, to_dimacs
    from pysat.solvers import Cadical195

    formula = parse_dimacs(_clauses(question))
    clauses = [[to_dimacs(literal) for literal in clause] for clause in formula.clauses]
    if [] in clauses:
        return Proof.REWRITTEN
    with Cadical195(bootstrap_with=clauses, with_proof=True) as solver:
        if solver.solve():
            return Proof.FAILED
        proof = solver.get_proof()
    return Proof.CHECKED if check_proof(formula, "\n".join(proof)).ok else Proof.FAILED
