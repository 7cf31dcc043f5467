"""Values in which each byte tells where it comes from: ChaCha20 as an uninterpreted function."""

from collections.abc import Sequence
from dataclasses import dataclass

from specs.values import IntValues

FIRST_NAME = 1000
"""Bytes that are not constants are numbered from here on."""


@dataclass(frozen=True)
class Origin:
    """A byte of a key stream: which key, by its words, and which byte of the stream."""

    key: tuple[int, ...]
    at: int


class UninterpretedValues(IntValues):
    """Bytes have numbers of their own, and a word the number of its first byte in the stream."""

    def __init__(self) -> None:
        self._last = FIRST_NAME
        self._joined: dict[tuple[int, ...], int] = {}
        self._blocks: dict[tuple[tuple[int, ...], int], int] = {}
        self._origins: dict[int, Origin] = {}

    def fresh(self, count: int) -> tuple[int, ...]:
        """Return bytes that nobody has seen."""
        first = self._last
        self._last += count
        return tuple(range(first, self._last))

    def origin(self, octet: int) -> Origin | None:
        """Return where a byte comes from; None if it is of no key stream."""
        return self._origins.get(octet)

    def join(self, octets: Sequence[int], /) -> int:
        if not any(octets):
            return 0
        return self._joined.setdefault(tuple(octets), len(self._joined) + 1)

    def split(self, word: int, /) -> tuple[int, ...]:
        return tuple(range(word, word + 4))

    def block(self, key: Sequence[int], counter: int, /) -> tuple[int, ...]:
        name = (tuple(key), counter)
        if name not in self._blocks:
            octets = self.fresh(64)
            self._blocks[name] = octets[0]
            for number, octet in enumerate(octets):
                self._origins[octet] = Origin(tuple(key), 64 * counter + number)
        first = self._blocks[name]
        return tuple(range(first, first + 64, 4))
