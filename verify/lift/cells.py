"""Byte-addressed storage that holds symbolic values of mixed sizes.

One class serves for a register file and for the bytes of a memory region: overlapping reads
and writes of any size are exact, and what was never written is asked for, not invented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

Value = Any
"""A claripy bit-vector."""

Initial = Callable[[int, int], tuple[int, int, Value]]
"""Given the offset and size in bytes of a hole: start, size and value of initial contents that
cover at least the first byte of the hole. Where something was written, that stays."""


class Cells:
    """Offsets in bytes to values; `little` tells which byte of a value lies at the low offset."""

    __slots__ = ("_cells", "_initial", "_owner", "little")

    def __init__(self, little: bool, initial: Initial) -> None:
        self.little = little
        self._initial = initial
        self._cells: dict[int, tuple[int, Value]] = {}
        self._owner: dict[int, int] = {}

    def copy(self) -> Cells:
        """An independent copy."""
        twin = Cells(self.little, self._initial)
        twin._cells = dict(self._cells)
        twin._owner = dict(self._owner)
        return twin

    def __iter__(self) -> Iterator[tuple[int, int, Value]]:
        """(offset, size in bytes, value) of every cell, by offset."""
        for start in sorted(self._cells):
            size, value = self._cells[start]
            yield start, size, value

    def _part(self, start: int, low: int, high: int) -> Value:
        """Bytes low..high-1 (absolute offsets) of the cell at `start`."""
        size, value = self._cells[start]
        return self._slice(size, value, low - start, high - start)

    def _slice(self, size: int, value: Value, first: int, last: int) -> Value:
        """Bytes first..last-1 of a value of `size` bytes."""
        if self.little:
            return value[8 * last - 1 : 8 * first]
        return value[8 * (size - first) - 1 : 8 * (size - last)]

    def _join(self, parts: list[Value]) -> Value:
        if len(parts) == 1:
            return parts[0]
        if self.little:
            parts = parts[::-1]
        return parts[0].concat(*parts[1:])

    def read(self, offset: int, size: int) -> Value:
        """The value of `size` bytes at `offset`."""
        cell = self._cells.get(offset)
        if cell is not None and cell[0] == size:
            return cell[1]
        parts = []
        position, end = offset, offset + size
        while position < end:
            start = self._owner.get(position)
            if start is None:
                hole = position
                while hole < end and hole not in self._owner:
                    hole += 1
                self._fill(*self._initial(position, hole - position))
                start = self._owner[position]
            stop = min(end, start + self._cells[start][0])
            parts.append(self._part(start, position, stop))
            position = stop
        return self._join(parts)

    def _fill(self, start: int, size: int, value: Value) -> None:
        """Place what initial contents say of bytes that were never written."""
        holes = [n not in self._owner for n in range(start, start + size)]
        for is_hole, group in groupby(range(size), key=holes.__getitem__):
            first, *rest = group
            if is_hole:
                last = first + 1 + len(rest)
                part = self._slice(size, value, first, last)
                self._place(start + first, last - first, part)

    def _place(self, offset: int, size: int, value: Value) -> None:
        self._cells[offset] = (size, value)
        for position in range(offset, offset + size):
            self._owner[position] = offset

    def write(self, offset: int, value: Value) -> None:
        """Store a value whose width in bits is a multiple of eight at `offset`."""
        size = value.size() // 8
        cell = self._cells.get(offset)
        if cell is not None and cell[0] == size:
            self._cells[offset] = (size, value)
            return
        end = offset + size
        for start in {self._owner[k] for k in range(offset, end) if k in self._owner}:
            stop = start + self._cells[start][0]
            before = self._part(start, start, offset) if start < offset else None
            after = self._part(start, end, stop) if stop > end else None
            del self._cells[start]
            for position in range(start, stop):
                del self._owner[position]
            if before is not None:
                self._place(start, offset - start, before)
            if after is not None:
                self._place(end, stop - end, after)
        self._place(offset, size, value)

    def covers(self, offset: int, size: int) -> bool:
        """Whether every byte of the range has been written or read before."""
        return all(position in self._owner for position in range(offset, offset + size))
