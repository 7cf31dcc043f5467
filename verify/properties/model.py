"""What a property is: segments in, obligations out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verify.prove.obligation import Obligation
from verify.prove.segments import Segments


@dataclass(frozen=True)
class Stated:
    """What a property claims of one target.

    `obligations` together imply the property. `undecided` are reasons why they do not cover it,
    in which case it cannot be PROVED. `findings` are facts worth reporting, one line each.
    """

    obligations: tuple[Obligation, ...]
    undecided: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Property:
    """One property of the contract. `title` is its claim in a few words."""

    id: str
    title: str
    state: Callable[[Segments], Stated]


def unknown_memory(segments: Segments) -> tuple[str, ...]:
    """A reason not to believe memory contents: a store whose place is not known."""
    return tuple(
        f"{segment.name}: a store through an address that belongs to no single region"
        for segment in segments
        if segment.machine.memory.unknown_write
    )


def merged(parts: Sequence[Stated]) -> Stated:
    """Several statements as one."""
    return Stated(
        tuple(obligation for part in parts for obligation in part.obligations),
        tuple(reason for part in parts for reason in part.undecided),
        tuple(dict.fromkeys(finding for part in parts for finding in part.findings)),
    )
