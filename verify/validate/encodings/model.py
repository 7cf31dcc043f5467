"""Instruction formats as data: which bits of an instruction are operands.

The rest of the instruction, the opcode, is what an instruction form is: the same operation on the
same kinds of operands, with the register numbers and immediates masked out. Bits that are neither
(reserved, or operands that choose another operation) count as opcode, so that a form never covers
more than one operation; an instruction of no known format is a form of its own.

An instruction is looked at as one number, its word: the number that its bytes make in the order
that the architecture's manual shows them in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Field = tuple[int, int]
"""An operand's place in a word: its lowest bit (0 is the least significant) and its width."""


@dataclass(frozen=True, order=True)
class Form:
    """The words w of `size` bytes with w & mask == opcode."""

    size: int
    mask: int
    opcode: int

    def __str__(self) -> str:
        digits = 2 * self.size
        return f"{self.opcode:0{digits}x}/{self.mask:0{digits}x}"

    @staticmethod
    def parse(text: str) -> Form:
        """The form that is written so."""
        opcode, mask = text.split("/")
        return Form(len(mask) // 2, int(mask, 16), int(opcode, 16))


def always(_word: int) -> bool:
    """Every combination of operands is defined."""
    return True


def all_defined(_code: bytes, _registers: Mapping[str, int]) -> Iterable[str]:
    """The manual defines every register behind every instruction."""
    return ()


@dataclass(frozen=True)
class Format:
    """The words of `size` bytes from `first` to `last` whose bits under `select` are `value`.

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
    size: int = 4

    @property
    def mask(self) -> int:
        """The bits that are no operands."""
        operands = 0
        for low, width in (*self.registers, *self.immediates):
            operands |= ((1 << width) - 1) << low
        return (1 << 8 * self.size) - 1 & ~operands

    def matches(self, word: int, size: int) -> bool:
        """Whether a word of so many bytes has this format."""
        return (
            size == self.size
            and self.first <= word <= self.last
            and word & self.select == self.value
        )


def whole(word: int, size: int) -> Format:
    """The format of this one word, which has no operands."""
    return Format("whole word", word, word, (), size=size)


@dataclass(frozen=True)
class Encoding:
    """An architecture's instructions: their formats, the first that matches counts.

    `order` is the byte order that makes a word of an instruction's bytes. `trap` are the bytes of
    an instruction that stops with a signal, the program counter at its own address; it is as long
    as addresses of instructions are aligned. `settable` gives, by the names of `verify.qemu`, the
    bits that states may set of those registers that do not take every value, or that then change
    how other instructions behave. `undefined` gives the registers, as the ABI names them, that the
    manual leaves undefined behind an instruction, given its bytes and QEMU's registers before it.
    """

    formats: tuple[Format, ...]
    order: Literal["little", "big"]
    trap: bytes
    settable: dict[str, int]
    undefined: Callable[[bytes, Mapping[str, int]], Iterable[str]] = all_defined

    def word(self, code: bytes) -> int:
        """The number that an instruction's bytes make."""
        return int.from_bytes(code, self.order)

    def format(self, code: bytes) -> Format:
        """The format of an instruction."""
        word, size = self.word(code), len(code)
        found = (known for known in self.formats if known.matches(word, size))
        return next(found, whole(word, size))

    def format_of(self, form: Form) -> Format:
        """The format of the instructions of a form.

        That of the one whose operands are all zero need not be it: where zero is no operand, the
        bits can be another instruction.
        """
        found = (
            known
            for known in self.formats
            if known.mask == form.mask and known.matches(form.opcode, form.size)
        )
        return next(found, whole(form.opcode, form.size))

    def form(self, code: bytes) -> Form:
        """The form of an instruction."""
        mask = self.format(code).mask
        return Form(len(code), mask, self.word(code) & mask)

    def code(self, form: Form) -> bytes:
        """The instruction of a form whose operands are all zero."""
        return form.opcode.to_bytes(form.size, self.order)
