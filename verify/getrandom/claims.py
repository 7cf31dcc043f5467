"""The properties of a getrandom: their names and what they say.

The one place for them, which the command line reads, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Claim(StrEnum):
    """A property of getrandom."""

    PARAMS = "params"
    FALLBACK = "fallback"
    STREAM = "stream"
    ERASURE = "erasure"
    GENERATION = "generation"
    REENTRY = "reentry"
    FORK = "fork"
    ABI = "abi"
    FOOTPRINT = "footprint"
    TERMINATION = "termination"
    TIMING = "timing"
    STACK = "stack"
    SECRECY = "secrecy"


TITLES: Mapping[Claim, str] = {
    Claim.PARAMS: "the query stores the parameters, and does nothing else",
    Claim.FALLBACK: "system calls as specified, with the original arguments; the result unchanged",
    Claim.STREAM: "rest of the batch, blocks, and a new batch, in order; the number of bytes",
    Claim.ERASURE: "what is given out is erased; a refill replaces batch and key",
    Claim.GENERATION: "generation stored before the key is asked for; checked again at the end",
    Claim.REENTRY: "the state is used only while in_use is set; a handler may call at any time",
    Claim.FORK: "of a page that is zeroed at any instruction nothing is returned",
    Claim.ABI: "registers and stack of the caller are kept",
    Claim.FOOTPRINT: "memory is read and written only where the contract says",
    Claim.TERMINATION: "every call returns",
    Claim.TIMING: "branches and addresses depend on nothing secret",
    Claim.STACK: "nothing is left on the stack that is not given out",
    Claim.SECRECY: "nothing is left in registers that is not given out",
}

COMPARED = frozenset(
    {
        Claim.PARAMS,
        Claim.FALLBACK,
        Claim.STREAM,
        Claim.ERASURE,
        Claim.GENERATION,
        Claim.REENTRY,
    }
)
"""What is shown by comparing what a path does with what the specification does."""

RESTS_ON: Mapping[Claim, tuple[Claim, ...]] = {
    Claim.FORK: (
        Claim.FALLBACK,
        Claim.STREAM,
        Claim.ERASURE,
        Claim.GENERATION,
        Claim.REENTRY,
    ),
    Claim.STACK: (Claim.STREAM, Claim.ERASURE),
    Claim.SECRECY: (Claim.STREAM, Claim.ERASURE),
}
"""What has to be proved for another to be: which bytes are given out; for fork, all that a call
does in which nothing is zeroed."""

THIRD = "it comes back to try a third time"
"""Why nothing is shown of a call that tries more than twice: no more of it is executed."""


@dataclass(frozen=True)
class Difference:
    """Where something was not shown; which properties are not, then."""

    claims: frozenset[Claim]
    reason: str


@dataclass(frozen=True)
class Note:
    """What was found besides, and decides nothing."""

    claim: Claim
    text: str
