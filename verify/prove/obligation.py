"""The unit of what is claimed."""

from __future__ import annotations

from dataclasses import dataclass

from verify.terms import Term


@dataclass(frozen=True)
class StackWriteProbe:
    """Look at the store at `instruction` of `size` bytes to the entry stack pointer + `offset`."""

    instruction: int
    offset: int
    size: int


@dataclass(frozen=True)
class RegisterWriteProbe:
    """Look at the register right after each of the instructions."""

    instructions: tuple[int, ...]
    register: str


@dataclass(frozen=True)
class AccessProbe:
    """Look whether the byte at `offset` of `region`, outside of it, is touched."""

    region: str
    offset: int


@dataclass(frozen=True)
class RegisterProbe:
    """Look whether a register at return depends on the key."""

    register: str


@dataclass(frozen=True)
class KeyProbe:
    """Look whether the path behind an instruction, the address at it, or what it multiplies or
    divides depends on the key."""

    instruction: int


Probe = StackWriteProbe | RegisterWriteProbe | AccessProbe | RegisterProbe | KeyProbe
"""What to observe in an execution to see an obligation fail."""


@dataclass(frozen=True)
class Obligation:
    """`formula` follows from `assumptions`, for all values of the free variables.

    `claim` says so in one line of English. `instructions` are the addresses that it came from.
    `instances` counts the places in the proof that need this same formula. `probes` are what an
    execution of the real bytes shows when the formula is false, where the state at return does not
    show it.
    """

    id: str
    claim: str
    assumptions: tuple[Term, ...]
    formula: Term
    instructions: tuple[int, ...] = ()
    instances: int = 1
    probes: tuple[Probe, ...] = ()
