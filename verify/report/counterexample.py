"""A counterexample as text: inputs, expected against actual, and where they part."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verify.arch import by_name
from verify.errors import printable

if TYPE_CHECKING:
    from verify.counterexample import Counterexample, Departure, RegisterValue

MARK = "*"
"""Stands behind a word that differs."""

_WIDTH = 64
_ROW = 4


def counterexample_text(found: Counterexample, architecture: str) -> str:
    """Lines of at most 80 characters, where the texts of the counterexample allow it."""
    return "\n".join(
        f"    {value}" if name is None else f"  {name:<11}  {printable(value)}".rstrip()
        for name, value in _rows(found, architecture)
    )


def key_bytes(key: Sequence[int], architecture: str) -> bytes:
    """The 32 bytes of a key of 8 words, as they lie in that architecture's memory."""
    order = by_name(architecture).byte_order
    return b"".join(word.to_bytes(4, order) for word in key)


def grid(expected: Sequence[int], actual: Sequence[int]) -> Iterator[str]:
    """The 4 rows of two states of 16 words, side by side, differing words of the second marked."""
    for row in range(0, len(expected), _ROW):
        pairs = list(zip(expected[row : row + _ROW], actual[row : row + _ROW], strict=True))
        left = " ".join(f"{one:08x}" for one, _ in pairs)
        right = "".join(f"{two:08x}{MARK if one != two else ' '}" for one, two in pairs)
        yield f"{left}   {right}".rstrip()


def place(departure: Departure) -> str:
    """The operation in words."""
    if not departure.round:
        return f"behind the rounds of block {departure.block}: {departure.operation}"
    return (
        f"round {departure.round}, quarter round {departure.quarter_round} of block"
        f" {departure.block}: {departure.operation}"
    )


def _rows(found: Counterexample, architecture: str) -> Iterator[tuple[str | None, str]]:
    """Names and values; None for the name of a line that is wider than the column of values."""
    yield "what", found.what
    yield from _words("key words", found.key)
    yield "key bytes", key_bytes(found.key, architecture).hex()
    yield "key at", "dst + 96, as in a refill" if found.in_place else "a place apart from dst"
    yield "counter", f"{found.counter:#018x}"
    yield "nblocks", str(found.nblocks)
    yield from _registers("registers", found.registers)
    if found.other_key:
        yield from _words("other key", found.other_key)
    yield from _registers("others", found.other_registers)
    yield "expected", found.expected
    yield "actual", found.actual
    if found.expected_words:
        title = f"block {found.block}, expected"
        yield None, f"{title:<35}   actual ({MARK} differs)"
        for line in grid(found.expected_words, found.actual_words):
            yield None, line
    if found.deviation is not None:
        yield "deviates at", f"{found.deviation:#x}  {found.deviation_text}"
    if found.departure is not None:
        yield from _departure(found.departure)
    if found.source:
        yield "source", found.source
    for note in found.notes:
        first, *rest = textwrap.wrap(note, _WIDTH)
        yield "note", first
        yield from (("", line) for line in rest)
    yield "executed by", found.executed_by


def _words(title: str, words: Sequence[int]) -> Iterator[tuple[str, str]]:
    for row in range(0, len(words), _ROW):
        yield title if not row else "", " ".join(f"{w:#010x}" for w in words[row : row + _ROW])


def _registers(title: str, registers: Sequence[RegisterValue]) -> Iterator[tuple[str, str]]:
    for number, register in enumerate(registers):
        yield title if not number else "", f"{register.name} {register.value:#x}"


def _departure(departure: Departure) -> Iterator[tuple[str, str]]:
    yield "", place(departure)
    yield "", f"state word {departure.word} becomes {departure.expected:#010x} there"
    held = [
        f"{word.word}: {' '.join(word.held_in) or '-'}"
        for word in sorted(departure.state, key=lambda one: one.word)
    ]
    width = max((len(text) for text in held), default=0)
    for row in range(0, len(held), _ROW):
        line = "  ".join(f"{text:<{width}}" for text in held[row : row + _ROW])
        yield "state held" if not row else "", line.rstrip()
