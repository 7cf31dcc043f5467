"""A formula for the number of instructions, fitted to calls and checked on every one of them.

A call takes `first` bytes from what is left of the batch. Where that is not enough, `blocks` blocks
of ChaCha20 go to the buffer, batch and key are filled anew, and `rest` bytes come from the new
batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from specs.contract import BLOCK_BYTES
from specs.opaque_state import BATCH_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verify.cost.measure import Served

WORDS = (1, 8)
"""Bytes that code may move at once; the first for which a formula fits is taken."""

type Features = dict[str, tuple[int, ...]]
"""What a number of instructions may be proportional to, as in Term."""


@dataclass(frozen=True)
class Term:
    """Numbers of instructions, and what they are taken times.

    One factor is taken times a number of bytes, words or blocks, or if a condition in brackets
    holds; it is the constant where `of` is empty. Several are for the values that `of` lists, of
    which one holds or none.
    """

    of: str
    factors: tuple[int, ...]

    def __str__(self) -> str:
        if len(self.factors) == 1:
            return f"{self.factors[0]} {self.of}".rstrip()
        return f"({self.of}: {' '.join(map(str, self.factors))})"


@dataclass(frozen=True)
class Formula:
    """A sum of numbers of instructions."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return " + ".join(map(str, self.terms)).replace("+ -", "- ")


@dataclass(frozen=True)
class Formulas:
    """Those for calls that the batch is enough for, and for the others; None where none fits."""

    within: Formula | None
    beyond: Formula | None


def formulas(by_call: Mapping[Served, int]) -> Formulas:
    """The formulas that give the number of instructions of each of these calls."""
    within = {call: n for call, n in by_call.items() if call[0] <= BATCH_BYTES - call[1]}
    beyond = {call: n for call, n in by_call.items() if call not in within}
    return Formulas(_fitted(within), _fitted(beyond))


def _fitted(by_call: Mapping[Served, int]) -> Formula | None:
    for word in WORDS:
        rows = [_features(call, word) for call in by_call]
        columns = [[one for some in row.values() for one in some] for row in rows]
        solution = _solved(columns, list(by_call.values()))
        if solution is not None:
            factors = iter(solution)
            terms = [Term(of, tuple(next(factors) for _ in some)) for of, some in rows[0].items()]
            return Formula(tuple(term for term in terms if any(term.factors)))
    return None


def _features(call: Served, word: int) -> Features:
    length, pos = call
    left = BATCH_BYTES - pos
    if length <= left:
        constant: Features = {"": (1,)} if word == 1 else {}
        return constant | _moved("len", length, word) | {"[len = 96 - pos]": (length == left,)}
    blocks, rest = divmod(length - left, BLOCK_BYTES)
    found: Features = {"": (1,), "blocks": (blocks,), "[blocks > 0]": (blocks > 0,)}
    for name, size in (("first", left), ("rest", rest)):
        found |= _moved(name, size, word)
        if word == 1:
            found[f"[{name} = 0]"] = (not size,)
    return found


def _moved(name: str, size: int, word: int) -> Features:
    """What moving some bytes may be proportional to: their number, or where whole words move that
    of the words, with what belongs to each remainder."""
    if word == 1:
        return {name: (size,)}
    return {
        f"{name} div {word}": (size // word,),
        f"{name} = 1..{word - 1}": tuple(size == n for n in range(1, word)),
        f"{name} mod {word} = 0..{word - 1} if {name} >= {word}": tuple(
            size >= word and size % word == n for n in range(word)
        ),
    }


def _solved(rows: Sequence[Sequence[int]], values: Sequence[int]) -> list[int] | None:
    """The only solution of a system of linear equations, if it is one of integers; or None."""
    if not rows:
        return None
    width = len(rows[0])
    pivots: dict[int, list[Fraction]] = {}
    for row, value in zip(rows, values, strict=True):
        left = [Fraction(one) for one in (*row, value)]
        for column, pivot in pivots.items():
            left = _without(left, column, pivot)
        column = next((n for n, one in enumerate(left) if one), width)
        if column == width:
            if any(left):
                return None
            continue
        pivot = [one / left[column] for one in left]
        pivots = {n: _without(other, column, pivot) for n, other in pivots.items()}
        pivots[column] = pivot
    if len(pivots) < width:
        return None
    solution = [pivots[n][width] for n in range(width)]
    return [int(one) for one in solution] if all(one.denominator == 1 for one in solution) else None


def _without(row: list[Fraction], column: int, pivot: Sequence[Fraction]) -> list[Fraction]:
    """A row less as much of a pivot's row as makes its column zero."""
    factor = row[column]
    if not factor:
        return row
    return [one - factor * other for one, other in zip(row, pivot, strict=True)]
