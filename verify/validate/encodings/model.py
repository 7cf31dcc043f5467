"""Instruction formats as data: which bits of a word are operands.

The rest of the word, the opcode, is what an instruction form is: the same operation on the same
kinds of operands, with the register numbers and immediates masked out. Bits that are neither
(reserved, or operands that choose another operation) count as opcode, so that a form never covers
more than one operation; a word of no known format is a form of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Field = tuple[int, int]
"""An operand's place in a word: its lowest bit (0 is the least significant) and its width."""

WORD_BITS = 32
ALL = (1 << WORD_BITS) - 1


@dataclass(frozen=True, order=True)
class Form:
    """The words w with w & mask == opcode."""

    mask: int
    opcode: int

    def __str__(self) -> str:
        return f"{self.opcode:08x}/{self.mask:08x}"

    @staticmethod
    def parse(text: str) -> Form:
        """The form that is written so."""
        opcode, mask = text.split("/")
        return Form(int(mask, 16), int(opcode, 16))


def always(_word: int) -> bool:
    """Every combination of operands is defined."""
    return True


@dataclass(frozen=True)
class Format:
    """The words from `first` to `last` whose bits under `select` are `value`.

    `registers` and `immediates` are their operands; `defined` tells whether the manual defines
    what a word with these operands does.
    """

    name: str
    first: int
    last: int
    registers: tuple[Field, ...]
    immediates: tuple[Field, ...] = ()
    select: int = 0
    value: int = 0
    defined: Callable[[int], bool] = always

    @property
    def mask(self) -> int:
        """The bits that are no operands."""
        operands = 0
        for low, width in (*self.registers, *self.immediates):
            operands |= ((1 << width) - 1) << low
        return ALL & ~operands

    def matches(self, word: int) -> bool:
        """Whether a word has this format."""
        return self.first <= word <= self.last and word & self.select == self.value


@dataclass(frozen=True)
class Encoding:
    """An architecture's instructions of 32 bits: their formats, the first that matches counts.

    `trap` is a word that stops with SIGTRAP. `settable` gives, by the names of `verify.qemu`, the
    bits that states may set of those registers that do not take every value, or that then change
    how other instructions behave.
    """

    formats: tuple[Format, ...]
    trap: int
    settable: dict[str, int]

    def format(self, word: int) -> Format:
        """The format of a word."""
        for known in self.formats:
            if known.matches(word):
                return known
        return Format("whole word", word, word, ())

    def form(self, word: int) -> Form:
        """The form of a word."""
        mask = self.format(word).mask
        return Form(mask, word & mask)
