"""Which states at the head of the retry loop stand for which others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from verify.getrandom.reasoning.dependence import dependences
from verify.getrandom.walk.paths import Path
from verify.getrandom.walk.setting import Setting, memory_of
from verify.terms import Term, extract, postorder

ANYTHING = "again "
"""Prefix of the variables that stand for anything in registers and on the stack, each of them in
one place only and in no fact."""


def most_general(starts: Iterable[Path]) -> list[Path]:
    """Those of some paths at the head of the retry loop that stand for all of them."""
    found: list[Path] = []
    for start in starts:
        general = next((other for other in found if covers(other, start)), None)
        if general is not None:
            _stand_in(general, start)
            continue
        for other in found:
            if covers(start, other):
                _stand_in(start, other)
        found = [other for other in found if not covers(start, other)]
        found.append(start)
    return found


def covers(general: Path, special: Path) -> bool:
    """Whether each state that one path at the head of the retry loop stands for is one of those of
    another: it differs only where that has variables that stand for anything."""
    if general.facts != special.facts or general.machine.pc != special.machine.pc:
        return False
    if memory_of(general.machine).given_up != memory_of(special.machine).given_up:
        return False
    return all(_is_anything(word) or word is other for word, other in _words(general, special))


def state_at(setting: Setting, path: Path) -> str:
    """A digest of all that a path at the head of the retry loop goes on from: what holds on it, and
    what registers and memory hold."""
    machine = path.machine.copy()
    memory = memory_of(machine)
    registers = setting.engine.layout.registers.values()
    whole = sorted({setting.engine.layout.enclosing(*one)[1:] for one in registers})
    terms = [machine.converter.term(machine.registers.read(*one)) for one in whole]
    places: list[object] = [memory.counter, sorted(memory.given_up)]
    for (region, index), cells in memory.cells().items():
        for offset, size, value in cells:
            places.append((region, offset, size))
            terms += (index.term(), machine.converter.term(value))
    told = machine.pc, places, _plain((*path.facts, *terms))
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _plain(terms: Sequence[Term]) -> object:
    """Plain data that tell terms as they are, each part of them once."""
    numbers: dict[Term, int] = {}
    told = []
    for part in postorder(terms):
        told.append((part.op, part.width, part.data, *(numbers[arg] for arg in part.args)))
        numbers[part] = len(numbers)
    return tuple(told), tuple(numbers[term] for term in terms)


def _stand_in(general: Path, special: Path) -> None:
    """Note that the variables of one path that stand for anything stand for what another has."""
    origins = memory_of(general.machine).origins
    for word, other in _words(general, special):
        if _is_anything(word):
            origins.stands_for(word, dependences([other]))


def _is_anything(word: Term) -> bool:
    return word.op == "var" and word.name.startswith(ANYTHING)


def _words(general: Path, special: Path) -> Iterator[tuple[Term, Term]]:
    """What registers and memory hold on one path, word by word, each with what is there on the
    other."""
    one, other = general.machine.copy(), special.machine.copy()
    ours, theirs = memory_of(one), memory_of(other)
    regions = {**ours.cells(), **theirs.cells()}
    pairs = [(ours.region(*key), theirs.region(*key)) for key in regions]
    for mine, its in ((one.registers, other.registers), *pairs):
        for offset, size, _ in (*mine, *its):
            value = one.converter.term(mine.read(offset, size))
            there = other.converter.term(its.read(offset, size))
            high = value.width
            for word in value.args if value.op == "concat" else (value,):
                low = high - word.width
                yield word, extract(there, high - 1, low)
                high = low
