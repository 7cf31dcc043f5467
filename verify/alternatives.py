"""The alternatives that an image offers to the kernel, read from its tables.

What an architecture's tables look like is in `verify.arch`. The numbers in them are not trusted:
a table is read with the one layout by which all of its entries make sense, or not at all.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verify.target import Alternative

if TYPE_CHECKING:
    from verify.arch import Architecture
    from verify.arch.patching import Layout, Patching, Table
    from verify.image import Elf, Section

MOST_ENTRIES = 4096
LONGEST = 4096
"""Bytes that one entry may replace; the length has eight bits on most architectures."""

LINK = "link it as the kernel's build does"


class Unreadable(Exception):
    """Why a table says nothing that can be relied on, in words."""


@dataclass(frozen=True)
class _Entry:
    """One entry: code at `start` up to `end` is replaced by the bytes `replacement`."""

    start: int
    end: int
    replacement: bytes


def alternatives_in(elf: Elf, architecture: Architecture) -> tuple[Alternative, ...]:
    """All alternatives of an image, in the order in which the kernel applies them.

    Raises Unreadable where a table is there, but not what it says.
    """
    patching = architecture.patching
    if patching is None:
        return ()
    found: list[Alternative] = []
    for table in patching.tables:
        if table.section in elf.unloaded:
            raise Unreadable(f"the table {table.section} is not loaded; {LINK}")
        for section in elf.sections:
            if section.name == table.section:
                found += _read(elf, architecture, patching, table, section)
    return tuple(found)


def _read(
    elf: Elf, architecture: Architecture, patching: Patching, table: Table, section: Section
) -> list[Alternative]:
    end = section.address + section.size
    if any(section.address <= one.address < end for one in elf.relocations):
        raise Unreadable(f"the table {section.name} has unresolved relocations; {LINK}")
    reasons: list[str] = []
    readings: list[list[Alternative]] = []
    for layout in table.layouts:
        try:
            reader = _Reader(elf, architecture, patching, layout)
            readings.append(list(reader.entries(section)))
        except Unreadable as error:
            reasons.append(str(error))
    if not readings:
        raise Unreadable(f"the table {section.name} is of no known format ({'; '.join(reasons)})")
    if any(other != readings[0] for other in readings[1:]):
        raise Unreadable(f"the table {section.name} can be read in several ways")
    return _refuse_extended(readings[0]) if patching.extends else readings[0]


def _refuse_extended(found: list[Alternative]) -> list[Alternative]:
    """Refuse those that only some kernels extend, by nops, to the length of a neighbour."""
    lengths: dict[int, set[int]] = {}
    for one in found:
        lengths.setdefault(one.address, set()).add(len(one.code))
    return [
        replace(one, refused=one.refused or "another entry replaces more or less of the same code")
        if len(lengths[one.address]) > 1
        else one
        for one in found
    ]


class _Reader:
    """Reads a table with one layout."""

    def __init__(
        self, elf: Elf, architecture: Architecture, patching: Patching, layout: Layout
    ) -> None:
        self._elf = elf
        self._architecture = architecture
        self._patching = patching
        self._layout = layout
        order = "<" if elf.little_endian else ">"
        self._format = struct.Struct(order + "".join(code for _, code in layout.fields))

    def entries(self, section: Section) -> Iterator[Alternative]:
        """The alternatives of a table; raises Unreadable unless all of them make sense."""
        size = self._layout.size
        count, rest = divmod(section.size, size)
        if rest:
            raise Unreadable(f"{section.size} bytes are not entries of {size}")
        if count > MOST_ENTRIES:
            raise Unreadable(f"{count} entries, at most {MOST_ENTRIES} are read")
        try:
            data = self._elf.read(section.address, section.size)
        except LookupError:
            raise Unreadable("it is not wholly loaded") from None
        for number, values in enumerate(self._format.iter_unpack(data)):
            named = self._absolute(section.address + number * size, values)
            try:
                yield self._alternative(named, self._entry(named))
            except Unreadable as error:
                raise Unreadable(f"entries of {size} bytes: number {number} {error}") from None

    def _absolute(self, address: int, values: tuple[int, ...]) -> dict[str, int]:
        """The fields of the entry at `address` by name, with addresses instead of offsets."""
        named: dict[str, int] = {}
        for (name, code), value in zip(self._layout.fields, values, strict=True):
            is_offset = name in ("start", "end", "replacement", "replacement_end")
            named[name] = value + address if is_offset else value
            if self._layout.relative_to == "field":
                address += struct.calcsize("<" + code)
        return named

    def _entry(self, named: dict[str, int]) -> _Entry:
        start = named["start"]
        constant = self._layout.constant
        end = named.get("end", start + named.get("length", len(constant)))
        alignment = self._architecture.instruction_alignment
        if not 0 < end - start <= LONGEST or start % alignment or end % alignment:
            raise Unreadable(f"replaces {end - start} bytes at {start:#x}")
        if not self._holds_code(start, end):
            raise Unreadable(f"replaces {start:#x}..{end:#x}, which is not code of the image")
        if constant:
            return _Entry(start, end, constant)
        first = named["replacement"]
        length = named.get("replacement_length", end - start)
        last = named.get("replacement_end", first + length)
        if last == first:
            return _Entry(start, end, b"")
        if not 0 < last - first <= end - start or (last - first) % alignment:
            raise Unreadable(f"puts {last - first} bytes in place of {end - start}")
        try:
            return _Entry(start, end, self._elf.read(first, last - first))
        except LookupError:
            raise Unreadable(f"takes bytes from {first:#x}, which the image lacks") from None

    def _holds_code(self, start: int, end: int) -> bool:
        return any(
            section.executable
            and section.address <= start
            and end <= section.address + section.size
            for section in self._elf.sections
        )

    def _alternative(self, named: dict[str, int], entry: _Entry) -> Alternative:
        condition = self._layout.condition(named)
        refused = condition.refused or self._relocated(entry.replacement)
        padding = self._nops(entry.end - entry.start - len(entry.replacement))
        if padding is None:
            refused = refused or "no nops fill up its replacement"
            padding = bytes(entry.end - entry.start - len(entry.replacement))
        return Alternative(entry.start, entry.replacement + padding, condition, refused)

    def _relocated(self, code: bytes) -> str:
        """Why instructions cannot be copied as they are; empty where they can."""
        at = 0
        longest = self._architecture.instruction_bytes
        while at < len(code):
            one = code[at : at + longest]
            if self._patching.relocated(one.ljust(longest, b"\0")):
                shown = one[: self._architecture.instruction_length(one)].hex()
                return f"its replacement has an instruction ({shown}) that depends on its address"
            at += self._architecture.instruction_length(one)
        return "" if at == len(code) else "its replacement ends within an instruction"

    def _nops(self, size: int) -> bytes | None:
        """Nops of `size` bytes, None where there are none of that length."""
        filled = b""
        for nop in self._patching.nops:
            while len(filled) + len(nop) <= size:
                filled += nop
        return filled if len(filled) == size else None
