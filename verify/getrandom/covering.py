"""Which states at the head of the retry loop stand for which others."""

from __future__ import annotations

from collections.abc import Iterable

from verify.getrandom.paths import Path
from verify.getrandom.setting import memory_of
from verify.terms import Term, extract

ANYTHING = "again "
"""Prefix of the variables that stand for anything in registers and on the stack, each of them in
one place only and in no fact."""


def most_general(starts: Iterable[Path]) -> list[Path]:
    """Those of some paths at the head of the retry loop that stand for all of them."""
    found: list[Path] = []
    for start in starts:
        if not any(covers(other, start) for other in found):
            found = [other for other in found if not covers(start, other)]
            found.append(start)
    return found


def covers(general: Path, special: Path) -> bool:
    """Whether each state that one path at the head of the retry loop stands for is one of those of
    another: it differs only where that has variables that stand for anything."""
    one, other = general.machine.copy(), special.machine.copy()
    if general.facts != special.facts or one.pc != other.pc:
        return False
    ours, theirs = memory_of(one), memory_of(other)
    regions = {**ours.cells(), **theirs.cells()}
    pairs = [(ours.region(*key), theirs.region(*key)) for key in regions]
    return all(
        _covers(
            one.converter.term(mine.read(offset, size)),
            other.converter.term(its.read(offset, size)),
        )
        for mine, its in ((one.registers, other.registers), *pairs)
        for offset, size, _ in (*mine, *its)
    )


def _covers(general: Term, special: Term) -> bool:
    """Whether a value is that of the other word by word, but for words that may be anything."""
    words = general.args if general.op == "concat" else (general,)
    high = general.width
    for word in words:
        low = high - word.width
        anything = word.op == "var" and word.name.startswith(ANYTHING)
        if not anything and word is not extract(special, high - 1, low):
            return False
        high = low
    return True
