"""A mutant, and what the harness says of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from verify.target import Target
from verify.verdict import Verdict


class Operator(Enum):
    """One kind of change."""

    DELETE = "delete"
    """The instruction is replaced by one without effect."""
    SWAP = "swap"
    """The instruction and the one behind it change places."""
    REGISTER = "register"
    """A register operand is another register."""
    IMMEDIATE = "immediate"
    """One bit of an immediate, offset, or shift or rotate amount is the other one."""
    BRANCH = "branch"
    """A branch has another condition, the opposite one among them."""
    WIDTH = "width"
    """A load or store has another width or extension."""
    SIBLING = "sibling"
    """The operation is a related one, as sub for add."""


@dataclass(frozen=True)
class Mutant:
    """A change to the code: at `address`, bytes `before` become `after`, of the same length."""

    operator: Operator
    address: int
    before: bytes
    after: bytes

    @property
    def id(self) -> str:
        """Operator, address, and the new bytes in hexadecimal: unique in a function."""
        return f"{self.operator.value}@{self.address:#x}:{self.after.hex()}"

    def applied(self, target: Target) -> Target:
        """The target with the change made; raises ValueError where the bytes are others."""
        if target.code(self.address, len(self.before)) != self.before:
            raise ValueError(f"{self.id}: the bytes at {self.address:#x} are others")
        return patched(target, self.address, self.after)


def patched(target: Target, address: int, code: bytes) -> Target:
    """The target with other bytes at an address."""
    segments = []
    for segment in target.segments:
        offset = address - segment.address
        data = segment.data
        if 0 <= offset <= len(data) - len(code):
            data = data[:offset] + code + data[offset + len(code) :]
        segments.append(replace(segment, data=data))
    return replace(target, segments=tuple(segments))


@dataclass(frozen=True)
class Judgement:
    """What the harness says of one mutant.

    `refuted_by` is the property that was seen broken by executing the mutant, with what was seen
    in `reason`; of an UNKNOWN, `reason` says why. `before` and `after` are the instructions as
    text. `seconds` is wall time in the worker. `equivalent` says of a PROVED one why it is no
    hole in the harness, and of one that was not proved why that is not needed; empty where no
    argument was found.
    """

    mutant: Mutant
    before: str
    after: str
    verdict: Verdict
    seconds: float
    refuted_by: str = ""
    reason: str = ""
    equivalent: str = ""

    @property
    def hole(self) -> bool:
        """Whether it was proved without an argument that it does what it should."""
        return self.verdict is Verdict.PROVED and not self.equivalent

    @property
    def open(self) -> bool:
        """Whether it is neither REFUTED nor PROVED nor shown to be equivalent."""
        return self.verdict in (Verdict.UNKNOWN, Verdict.VACUOUS) and not self.equivalent


def selection_id(mutants: Iterable[Mutant]) -> str:
    """A hash of a selection of mutants in its order, in hexadecimal."""
    return hashlib.sha256("\n".join(mutant.id for mutant in mutants).encode()).hexdigest()
