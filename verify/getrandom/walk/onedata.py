"""One path for a call inside a time namespace and outside of one.

Where a path shows which of the two it is, an address near the real data is so many bytes from their
start, wherever that is; a variable stands for the start. What such a path does from there on does
not depend on the namespace any more: of two that differ in nothing else one goes on, of which it is
not known which of them it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.alike import anything_else, memory_alike, registers_of
from verify.getrandom.walk.mapped import MAPPED, mapped
from verify.getrandom.walk.memory import DATA
from verify.getrandom.walk.namespaces import IN_NAMESPACE, start_of_data
from verify.getrandom.walk.setting import Setting, memory_of
from verify.terms import Linear, Term, linear, variables

if TYPE_CHECKING:
    from verify.getrandom.walk.paths import Path

_ADDRESSES = (DATA, MAPPED)


def relative(setting: Setting, questions: Questions, path: Path) -> Path:
    """The path with addresses of the page of the real data told from the start of those, if it is
    shown which page that is."""
    start = start_of_data(setting.layout, path.facts, questions)
    if setting.layout.namespace is None or start is None:
        return path
    machine = path.machine.copy()
    known = Linear(setting.bits, setting.base - start).plus(linear(mapped(setting.bits)))
    data = linear(setting.data)
    for cells in (machine.registers, *memory_of(machine).cells().values()):
        for offset, _, value in list(cells):
            term = machine.converter.term(value)
            if term.width != setting.bits:
                continue
            apart = linear(term).plus(known, -1)
            if apart.is_constant and abs(apart.constant) < setting.layout.page_bytes:
                cells.write(offset, machine.converter.leaf(data.plus(apart).term()))
    return replace(path, machine=machine)


def as_one(paths: Sequence[Path]) -> list[Path]:
    """The paths, with one in place of two that come to one place, have done the same there, and
    differ in the namespace and in registers only."""
    found: list[Path] = []
    for path in paths:
        for number, other in enumerate(found):
            joined = _joined(other, path)
            if joined is not None:
                found[number] = joined
                break
        else:
            found.append(path)
    return found


def the_only(paths: Sequence[Path]) -> Path | None:
    """The path, where there is one."""
    return paths[0] if len(paths) == 1 else None


def _joined(one: Path, other: Path) -> Path | None:
    if one.machine.pc != other.machine.pc or one.first is not other.first:
        return None
    if one.returned or other.returned or one.events != other.events:
        return None
    if memory_alike(one) != memory_alike(other):
        return None
    origins = memory_of(one.machine).origins
    said = origins.of_namespace | variables([IN_NAMESPACE])
    differing = frozenset(one.facts) ^ frozenset(other.facts)
    if not differing or not variables(differing) <= said or not _has_data(one, other):
        return None
    return replace(
        one,
        machine=anything_else((one, other)),
        facts=tuple(fact for fact in one.facts if fact in other.facts),
        breaches=tuple(dict.fromkeys((*one.breaches, *other.breaches))),
        blocks=max(one.blocks, other.blocks),
    )


def _has_data(one: Path, other: Path) -> bool:
    """Whether a register is known to hold the same address of the real data on both, and none
    addresses of the image or of the data that differ: from these the data may still be reached."""
    ours, theirs = registers_of(one), registers_of(other)
    same = [term for place, term in ours.items() if theirs.get(place) is term]
    differing = [place for place, term in ours.items() if theirs.get(place, term) is not term]
    return any(_names(term, DATA) for term in same) and not any(
        _names(ours[place], *_ADDRESSES) and _names(theirs[place], *_ADDRESSES)
        for place in differing
    )


def _names(term: Term, *names: str) -> bool:
    """Whether a variable of one of those names is in a term."""
    return any(one.name in names for one in variables([term]))
