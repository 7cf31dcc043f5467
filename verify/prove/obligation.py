"""The unit of what is claimed."""

from __future__ import annotations

from dataclasses import dataclass

from verify.terms import Term


@dataclass(frozen=True)
class Obligation:
    """`formula` follows from `assumptions`, for all values of the free variables.

    `claim` says so in one line of English. `instructions` are the addresses that it came from.
    `instances` counts the places in the proof that need this same formula.
    """

    id: str
    claim: str
    assumptions: tuple[Term, ...]
    formula: Term
    instructions: tuple[int, ...] = ()
    instances: int = 1
