"""What a property is: segments in, obligations out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from verify.prove.obligation import Obligation
from verify.prove.segments import Segments
from verify.terms import TRUE, Term


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


def distinct(obligations: Iterable[Obligation]) -> tuple[Obligation, ...]:
    """Each claim once. One formula on two paths is two claims, unless it is TRUE; those after the
    first of one id get a number behind it."""
    found: dict[tuple[str, Term, tuple[Term, ...]], Obligation] = {}
    times: Counter[str] = Counter()
    for one in obligations:
        key = (one.id, one.formula, () if one.formula is TRUE else one.assumptions)
        if key not in found:
            number = times[one.id]
            found[key] = replace(one, id=f"{one.id}#{number}") if number else one
            times[one.id] += 1
    return tuple(found.values())


def merged(parts: Sequence[Stated]) -> Stated:
    """Several statements as one."""
    return Stated(
        tuple(obligation for part in parts for obligation in part.obligations),
        tuple(reason for part in parts for reason in part.undecided),
        tuple(dict.fromkeys(finding for part in parts for finding in part.findings)),
    )
