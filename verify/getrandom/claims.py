"""The properties of a getrandom: their names and what they say.

The one place for them, which the command line reads, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Claim(StrEnum):
    """A property of getrandom."""

    PARAMS = "params"
    FALLBACK = "fallback"
    STREAM = "stream"
    ERASURE = "erasure"
    GENERATION = "generation"
    REENTRY = "reentry"
    ABI = "abi"


TITLES: Mapping[Claim, str] = {
    Claim.PARAMS: "the query stores the parameters, and does nothing else",
    Claim.FALLBACK: "system calls as specified, with the original arguments; the result unchanged",
    Claim.STREAM: "rest of the batch, blocks, and a new batch, in order; the number of bytes",
    Claim.ERASURE: "what is given out is erased; a refill replaces batch and key",
    Claim.GENERATION: "generation stored before the key is asked for; checked again at the end",
    Claim.REENTRY: "the state is used only between setting and clearing in_use",
    Claim.ABI: "registers and stack of the caller are kept",
}
