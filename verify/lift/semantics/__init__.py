"""What the stock lifters lack or get wrong: meanings of instructions, a file for each set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from verify.lift.engine import Layout
from verify.lift.flags import FlagThunk
from verify.lift.machine import Machine


class Meaning(Protocol):
    """Executes one instruction, given its encoding."""

    def __call__(self, machine: Machine, layout: Layout, word: int, /) -> None: ...


@dataclass(frozen=True)
class Semantics:
    """The complete meaning of one mnemonic.

    `manual` is the section that defines it, `report` the public report of the lifter's fault,
    empty where there is none.
    """

    mnemonic: str
    run: Meaning
    manual: str
    report: str


Elements = Callable[[int, int], int | None]
"""An instruction of 32 bits and the size of one of its accesses in bytes, to the size of the
elements that have a byte order each; None where it is not known."""


def no_operands(_word: int) -> str:
    """The operands of an instruction that has none."""
    return ""


@dataclass(frozen=True)
class Encoded:
    """The meaning of every instruction of `size` bytes that are the number `word`, with
    `word & mask == value`.

    `operands` shows those of a word as assembly.
    """

    mask: int
    value: int
    semantics: Semantics
    operands: Callable[[int], str] = no_operands
    size: int = 4

    def text(self, word: int) -> str:
        """An instruction as assembly."""
        return f"{self.semantics.mnemonic} {self.operands(word)}".strip()


def semantics_for(instruction_set: str) -> Mapping[str, Semantics]:
    """The replacements for one instruction set by the lifter's mnemonic; empty if it has none."""
    table: Mapping[str, Semantics] = _of(instruction_set, "SEMANTICS", {})
    return table


def undefined_above(instruction_set: str) -> tuple[str, ...]:
    """SLEIGH's registers of which a narrower write leaves the more significant bytes undefined."""
    names: tuple[str, ...] = _of(instruction_set, "UNDEFINED_ABOVE", ())
    return names


def undefined_beside_floats(instruction_set: str) -> tuple[str, ...]:
    """VEX's vector registers whose second half is undefined where a floating-point register, which
    is their first half, is written."""
    names: tuple[str, ...] = _of(instruction_set, "UNDEFINED_BESIDE_FLOATS", ())
    return names


def encoded_for(instruction_set: str) -> tuple[Encoded, ...]:
    """The additions for one instruction set that VEX does not decode, or of which it says what the
    manual leaves undefined."""
    table: tuple[Encoded, ...] = _of(instruction_set, "ENCODED", ())
    return table


def undecoded_for(instruction_set: str) -> tuple[Encoded, ...]:
    """The additions for one instruction set that SLEIGH does not decode."""
    table: tuple[Encoded, ...] = _of(instruction_set, "UNDECODED", ())
    return table


def flags_for(instruction_set: str) -> FlagThunk | None:
    """How VEX keeps the flags of one instruction set; None where it keeps them as they are."""
    thunk: FlagThunk | None = _of(instruction_set, "FLAGS", None)
    return thunk


def helpers_for(instruction_set: str) -> Mapping[str, Callable[..., Any]]:
    """Functions that VEX's code for one instruction set calls, by name; those not named are angr's.

    Each takes angr's state and the arguments.
    """
    table: Mapping[str, Callable[..., Any]] = _of(instruction_set, "HELPERS", {})
    return table


def operations_for(instruction_set: str) -> Mapping[str, Callable[..., Any]]:
    """VEX operations that have their own meaning, or are in need of one, in one instruction set."""
    table: Mapping[str, Callable[..., Any]] = _of(instruction_set, "OPERATIONS", {})
    return table


def elements_for(instruction_set: str) -> Elements:
    """How the accesses of an instruction set are made of elements; none is known by default.

    Matters where data have another byte order than instructions.
    """
    known: Elements = _of(instruction_set, "element_bytes", lambda _word, _size: None)
    return known


def alignment_for(instruction_set: str) -> Callable[[bytes, int], int] | None:
    """The alignment in bytes that the instruction at the start of some bytes needs of an access to
    so many bytes; None for an instruction set of which VEX knows it."""
    known: Callable[[bytes, int], int] | None = _of(instruction_set, "alignment", None)
    return known


def ignored_for(instruction_set: str) -> int | None:
    """The bits that an indirect jump clears in its target, where VEX leaves them; None where it
    does as the manual says."""
    bits: int | None = _of(instruction_set, "IGNORED_IN_TARGET", None)
    return bits


def registers_for(instruction_set: str) -> Mapping[str, tuple[int, int]]:
    """VEX's registers that archinfo does not name: name to (offset, size) in bytes."""
    table: Mapping[str, tuple[int, int]] = _of(instruction_set, "REGISTERS", {})
    return table


def text_for(instruction_set: str) -> Callable[[bytes], str]:
    """What gives an instruction's bytes as assembly where capstone does not, empty where this does
    not, either."""
    text: Callable[[bytes], str] = _of(instruction_set, "text_of", lambda _: "")
    return text


def _of(instruction_set: str, name: str, default: object) -> Any:
    """What the file of an instruction set defines under a name."""
    module = f"{__name__}.{instruction_set}"
    return default if find_spec(module) is None else getattr(import_module(module), name, default)
