"""Which operation of the specification is which, and where the code has the state just then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from specs.chacha20 import QUARTER_ROUNDS
from verify.lift.memory import STACK
from verify.prove.correspondence import LANE, Specified
from verify.prove.segments import Segment, Segments
from verify.terms import Term

STATE_WORDS = 16
OPERATIONS = 12
"""Operations of one quarter round (RFC 8439 section 2.1): four times an addition, an exclusive or
and a rotation."""

ROUND = 4 * OPERATIONS
"""Operations of one round: four quarter rounds (RFC 8439 section 2.3)."""

_MAKES = (0, 3, 3, 2, 1, 1, 0, 3, 3, 2, 1, 1)
"""Which of a quarter round's four words each of its operations makes."""

_COLUMNS_AND_DIAGONALS = len(QUARTER_ROUNDS)
_MANY = 3


@dataclass(frozen=True)
class Operation:
    """One operation of the specification of a block: where it is, and the word that it makes.

    `round` is 1 to 20 and `quarter_round` 1 to 4; both are 0 for the additions behind the rounds.
    """

    number: int
    round: int
    quarter_round: int
    word: int

    @property
    def where(self) -> str:
        """The place in words."""
        if not self.round:
            return f"output word {self.word}"
        return f"round {self.round}, quarter round {self.quarter_round}"


def operation(specified: Specified, number: int) -> Operation:
    """The operation of that number in `specified.operations`."""
    last = len(specified.operations) - STATE_WORDS
    if number >= last:
        return Operation(number, 0, 0, number - last)
    quarter, step = divmod(number, OPERATIONS)
    indices = QUARTER_ROUNDS[quarter % _COLUMNS_AND_DIAGONALS]
    return Operation(number, quarter // 4 + 1, quarter % 4 + 1, indices[_MAKES[step]])


def versions(initial: Sequence[Term], specified: Specified, number: int, word: int) -> list[Term]:
    """The values of a state word around that operation, the latest first.

    A word can be as old as the round before, and code may carry out quarter rounds side by side,
    so that it is ahead of the operation by as many as a round has.
    """
    first, behind = number - 2 * ROUND, number + ROUND
    near = range(max(first, 0), min(behind, len(specified.operations)))
    found = [specified.operations[done] for done in near if operation(specified, done).word == word]
    return [*reversed(found), *([initial[word]] if first <= 0 else [])]


@dataclass(frozen=True)
class Contents:
    """The bytes of the register file, by offset, and of the stack, by offset from the stack pointer
    at entry, as far as the code has written them."""

    registers: Mapping[int, int]
    stack: Mapping[int, int]


def contents(segment: Segment, values: Mapping[Term, int], step: int, *, little: bool) -> Contents:
    """What has been written before the instruction of that number; `little` is the byte order of
    the lifter's register file."""
    machine = segment.machine
    registers: dict[int, int] = {}
    stack: dict[int, int] = {}
    for write in machine.register_writes:
        if write.step < step:
            size = -(-write.value.width // 8)
            data = values[write.value].to_bytes(size, "little" if little else "big")
            registers.update(enumerate(data, write.offset))
    for access in segment.accesses:
        if access.step < step and access.kind == "write" and access.place is not None:
            order: Literal["little", "big"] = "little" if machine.little else "big"
            if access.place.region == STACK:
                data = values[access.value].to_bytes(access.size, order)
                stack.update(enumerate(data, access.place.offset))
    return Contents(registers, stack)


def holders(segments: Segments, found: Contents, value: int) -> tuple[str, ...]:
    """The registers (with the bits, where they are not the lowest) and places on the stack that
    hold a 32-bit word; none if more do than can be meant."""
    held = list(_in_registers(segments, found, value))
    order = segments.target.architecture.byte_order
    word = value.to_bytes(LANE // 8, order)
    held += [
        f"sp{offset:+d}"
        for offset in found.stack
        if all(found.stack.get(offset + n) == byte for n, byte in enumerate(word))
    ]
    return tuple(dict.fromkeys(held)) if len(held) <= _MANY else ()


def _in_registers(segments: Segments, found: Contents, value: int) -> Iterator[str]:
    layout = segments.engine.layout
    for register in segments.target.architecture.registers:
        if register.bits is not None and register.bits[1] % LANE:
            continue
        offset, size = layout.registers[register.storage]
        for low in range(0, 8 * size - LANE + 1, LANE):
            first = low // 8
            at = offset + first if layout.little else offset + size - first - LANE // 8
            data = [found.registers.get(at + n) for n in range(LANE // 8)]
            if None in data:
                continue
            known = bytes(byte for byte in data if byte is not None)
            if int.from_bytes(known, "little" if layout.little else "big") == value:
                high = low + LANE - 1
                yield register.name if not low else f"{register.name}[{high}:{low}]"
