"""Make the inputs that show a breach as simple as a bounded number of executions can make them.

Fewest blocks first; then the key in a place of its own, no register with a value of its own, and
the fewest set bits in key and counter. What counts is what the real bytes do: an input is taken
when the same fault is seen on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verify.witness.breach import plural
from verify.witness.inputs import COUNTER_BITS, WORD_BITS, ZEROS, Inputs, generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verify.witness.breach import Breach

KEY_BITS = WORD_BITS * len(ZEROS)
_ALL_BITS = KEY_BITS + COUNTER_BITS
_PARTS = (
    ("key", 0, KEY_BITS),
    ("low word of the counter", KEY_BITS, WORD_BITS),
    ("high word of the counter", KEY_BITS + WORD_BITS, WORD_BITS),
)
"""Parts of the inputs, with their lowest bit in `_number` and their width."""
_RANDOM_VALUES = 32
_MOST_SHIFTS = 5
"""How many blocks the counter is put forward at most when there are fewer blocks."""


@dataclass(frozen=True)
class Budget:
    """How much may be executed: `calls` in all, `batch` of the simplest at once, and no more once
    the breach has been seen `sightings` times, where seeing it takes long."""

    calls: int
    batch: int
    sightings: int


@dataclass(frozen=True)
class Shrunk:
    """The breach on simpler inputs, and what is known of how far they are forced, in words."""

    breach: Breach
    notes: tuple[str, ...]


def set_bits(inputs: Inputs) -> list[int]:
    """The numbers of the set bits: those of the key from 0, then those of the counter."""
    value = _number(inputs)
    return [bit for bit in range(_ALL_BITS) if value >> bit & 1]


def _number(inputs: Inputs) -> int:
    key = sum(word << WORD_BITS * n for n, word in enumerate(inputs.key))
    return inputs.counter << KEY_BITS | key


def _with_number(inputs: Inputs, value: int) -> Inputs:
    key = tuple(value >> WORD_BITS * n & 2**WORD_BITS - 1 for n in range(len(ZEROS)))
    return replace(inputs, key=key, counter=value >> KEY_BITS)


def _measure(inputs: Inputs) -> tuple[int, ...]:
    """Smaller for simpler inputs."""
    return (
        inputs.nblocks,
        inputs.in_place,
        len(inputs.registers),
        _number(inputs).bit_count(),
        inputs.counter,
    )


def key_neighbours(inputs: Inputs) -> tuple[Inputs, ...]:
    """The calls that differ in one bit of the key, from the lowest bit of word 0 on."""
    number = _number(inputs)
    return tuple(_with_number(inputs, number ^ 1 << bit) for bit in range(KEY_BITS))


def _ladder(inputs: Inputs) -> list[Inputs]:
    """Simple inputs, and mixtures of them with those at hand, the simplest first."""
    found = []
    for nblocks in range(1, inputs.nblocks + 1):
        fewer = inputs.nblocks - nblocks
        shifts = {*range(min(fewer, _MOST_SHIFTS)), fewer}
        later = [(inputs.counter + shift) % 2**COUNTER_BITS for shift in sorted(shifts)]
        for in_place in {False, inputs.in_place and nblocks == inputs.nblocks}:
            for seed, registers in ((0, {}), (inputs.seed, inputs.registers)):
                found += [
                    Inputs(key, counter, nblocks, in_place, seed, registers)
                    for key in (ZEROS, inputs.key)
                    for counter in (0, *later)
                ]
    simple: dict[tuple[int, ...], Inputs] = {}
    for one in found:
        simple.setdefault((*_measure(one), one.seed, *one.key), one)
    return sorted(simple.values(), key=_measure)


class _Search:
    """Tries inputs as long as the budget lasts, and keeps the best."""

    def __init__(
        self,
        breach: Breach,
        again: Callable[[Sequence[Inputs]], Sequence[Breach | None]],
        budget: Budget,
    ) -> None:
        self.best = breach
        self._again = again
        self._batch = budget.batch
        self._left = budget.calls
        self._sightings = budget.sightings

    def shows(self, calls: Iterable[Inputs]) -> list[Breach | None] | None:
        """What the calls show; None when the budget does not allow so many."""
        asked = list(calls)
        if len(asked) > self._left or self._sightings <= 0:
            return None
        found = list(self._again(asked))
        self._left -= len(asked)
        self._sightings -= sum(breach is not None for breach in found)
        return found

    def simplest(self, calls: Sequence[Inputs]) -> None:
        """Take the first of the calls, which get less simple, that shows it."""
        for start in range(0, len(calls), self._batch):
            some = calls[start : start + self._batch]
            found = self.shows(some) or ()
            first = next((breach for breach in found if breach is not None), None)
            if first is not None:
                if _measure(first.inputs) < _measure(self.best.inputs):
                    self.best = first
                return

    def clear(self) -> bool:
        """Clear set bits, many at a time and then one by one; whether each that is left is needed.

        The sets that can be cleared by themselves are joined, as far as they can be cleared
        together.
        """
        bits = set_bits(self.best.inputs)
        size = max(1, len(bits) // 2)
        while bits:
            sets = [bits[at : at + size] for at in range(0, len(bits), size)]
            found = self.shows(self._without(some) for some in sets)
            if found is None:
                return False
            good = [some for some, breach in zip(sets, found, strict=True) if breach is not None]
            if good:
                self.best = next(breach for breach in found if breach is not None)
                self._join(good)
                bits = set_bits(self.best.inputs)
            elif size == 1:
                return True
            size = max(1, min(size, len(bits)) // 2)
        return True

    def others(self) -> Iterator[str]:
        """How often it is seen when one part of the inputs has random values instead."""
        inputs = self.best.inputs
        values = generator("other values")
        rest = _number(inputs)
        parts = []
        for title, low, width in _PARTS:
            kept = rest & ~((1 << width) - 1 << low)
            calls = [
                _with_number(inputs, kept | values.getrandbits(width) << low)
                for _ in range(_RANDOM_VALUES)
            ]
            if (found := self.shows(calls)) is None:
                return
            seen = sum(breach is not None for breach in found)
            parts.append(f"{title} {seen}")
        yield f"of {_RANDOM_VALUES} random other values each, so many show it: {', '.join(parts)}"

    def _without(self, bits: Iterable[int]) -> Inputs:
        inputs = self.best.inputs
        return _with_number(inputs, _number(inputs) & ~sum(1 << bit for bit in bits))

    def _join(self, good: Sequence[Sequence[int]]) -> None:
        joined, unions = list(good[0]), []
        for some in good[1:]:
            joined = [*joined, *some]
            unions.append(self._without(joined))
        together = self.shows(unions) or ()
        most = next((breach for breach in reversed(together) if breach is not None), None)
        self.best = most or self.best


def shrink(
    breach: Breach,
    again: Callable[[Sequence[Inputs]], Sequence[Breach | None]],
    budget: Budget,
) -> Shrunk:
    """The breach on the simplest inputs found.

    `again` tells for each of several inputs what they show of this breach, None for nothing.
    Raises QemuError as it does.
    """
    search = _Search(breach, again, budget)
    search.simplest(_ladder(breach.inputs))
    if budget.batch >= _ALL_BITS and len(set_bits(search.best.inputs)) > 1:
        nothing = search.best.inputs
        search.simplest([_with_number(nothing, 1 << bit) for bit in range(_ALL_BITS)])
    needed = search.clear()
    notes = list(_notes(search.best.inputs, needed))
    if budget.batch > 1:
        notes += search.others()
    return Shrunk(search.best, tuple(notes))


def cleared(
    breach: Breach,
    again: Callable[[Sequence[Inputs]], Sequence[Breach | None]],
    budget: Budget,
) -> Breach:
    """The breach on inputs with fewer bits set in key and counter; otherwise as `shrink`."""
    search = _Search(breach, again, budget)
    search.clear()
    return search.best


def _notes(inputs: Inputs, needed: bool) -> Iterable[str]:
    if inputs.nblocks > 1:
        yield f"not seen with fewer than {inputs.nblocks} blocks"
    if inputs.in_place:
        yield "seen only with the key at dst + 96"
    count = len(set_bits(inputs))
    if count and needed:
        yield (
            f"{plural(count, 'bit')} of key and counter {'is' if count == 1 else 'are'} set, and"
            " with any one of them cleared it is not seen"
        )
