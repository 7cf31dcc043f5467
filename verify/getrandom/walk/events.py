"""What a path does that others can see, in program order.

Positions in the batch are linear forms of the pointer's width, from the start of the state; those
in the buffer are from the start of the buffer. `epoch` counts the refills of the batch on the path.
`at` is the address of the block of instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from specs.opaque_state import GENERATION_OFFSET, IN_USE_OFFSET, POS_OFFSET
from verify.terms import Linear, Term


class Field(StrEnum):
    """A scalar of the state."""

    GENERATION = "generation"
    POS = "pos"
    IN_USE = "in_use"
    FIRST_WORD = "first word of generation"
    SECOND_WORD = "second word of generation"


FIELDS = {
    (GENERATION_OFFSET, 8): Field.GENERATION,
    (GENERATION_OFFSET, 4): Field.FIRST_WORD,
    (GENERATION_OFFSET + 4, 4): Field.SECOND_WORD,
    (POS_OFFSET, 1): Field.POS,
    (IN_USE_OFFSET, 1): Field.IN_USE,
}
"""By offset in the state and size in bytes."""


@dataclass(frozen=True)
class PageRead:
    """A read at a constant address outside the image, which gave `value`. `offset` is where in the
    generator's data it is shown to lie, None where it is not."""

    at: int
    address: int
    size: int
    value: Term
    offset: int | None = None


def reads_current(event: object) -> bool:
    """Whether it is a read of the kernel's generation."""
    return isinstance(event, PageRead) and (event.offset, event.size) == (0, 8)


@dataclass(frozen=True)
class FieldRead:
    """A scalar of the state was read, and was `value`."""

    at: int
    field: Field
    value: Term


@dataclass(frozen=True)
class FieldWrite:
    """A scalar of the state was written."""

    at: int
    field: Field
    value: Term


@dataclass(frozen=True)
class SystemCall:
    """A system call with the first three arguments, of register width, and what it returned."""

    at: int
    number: Term
    buffer: Term
    len: Term
    flags: Term
    result: Term


@dataclass(frozen=True)
class BatchRead:
    """`size` bytes of the batch were read."""

    at: int
    epoch: int
    start: Linear
    size: Linear


@dataclass(frozen=True)
class Zero:
    """`size` bytes of the batch were made zero."""

    at: int
    epoch: int
    start: Linear
    size: Linear


@dataclass(frozen=True)
class Constant:
    """A constant, not zero, was written to the first 96 bytes of the state, `size` bytes of it."""

    at: int
    start: Linear
    size: Linear
    value: int


@dataclass(frozen=True)
class Stored:
    """A value was written to the first 96 bytes of the state, `size` bytes of it: a constant, if
    what holds on the path makes it one."""

    at: int
    start: Linear
    size: Linear
    value: Term

    def settled(self, value: int, epoch: int) -> Zero | Constant:
        """What it is if the value is that."""
        if value == 0:
            return Zero(self.at, epoch, self.start, self.size)
        return Constant(self.at, self.start, self.size, value)


@dataclass(frozen=True)
class Copy:
    """`size` bytes of the batch, from `start` on, were written to the buffer from `to` on."""

    at: int
    to: Linear
    epoch: int
    start: Linear
    size: Linear


@dataclass(frozen=True)
class Keystream:
    """ChaCha20 blocks were written to the buffer from `to` on, from block counter `counter` on, 64
    bits. `key` names the key; `size` is their number in bytes."""

    at: int
    to: Linear
    key: str
    counter: Term
    size: Term


@dataclass(frozen=True)
class Refill:
    """The next two blocks were written over batch and key."""

    at: int
    key: str
    counter: Term


Moved = BatchRead | Zero | Copy
type Event = PageRead | FieldRead | FieldWrite | SystemCall | Moved | Constant | Keystream | Refill
