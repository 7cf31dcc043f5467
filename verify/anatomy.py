"""What a function does, instruction by instruction: what a report shows beside the verdicts.

Plain data, read with a result. Nothing here is a claim: a role is what the proof has established of
an instruction, and one of which nothing is established has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Part(Enum):
    """What an instruction is there for."""

    OPERATION = "operation"
    """Writes the result of an operation of the specification."""
    STEP = "step"
    """Computes something on the way to such a result."""
    INITIAL = "initial"
    """Brings words of the initial state into place: constants, key, counter."""
    MOVE = "move"
    """Copies words of the state, or puts them in another order."""
    OUTPUT = "output"
    """Writes words of the output to dst, or brings them into the order of bytes there."""
    COUNTER = "counter"
    """Computes the counter of the next block, or what is stored at counter."""
    SAVE = "save"
    """Keeps what the caller or the function needs again."""
    RESTORE = "restore"
    """Gives a register back what it held at entry."""
    WIPE = "wipe"
    """Overwrites what may hold a secret, with something that depends on none, until the return."""
    FRAME = "frame"
    """Moves the stack pointer."""
    ADDRESS = "address"
    """Computes an address."""
    LOOP = "loop"
    """Decides how often a loop is passed, or computes what decides it."""
    BRANCH = "branch"
    """Decides where to go on, or goes there."""
    RETURN = "return"
    """Leaves the function."""
    CONSTANT = "constant"
    """Writes a constant."""


@dataclass(frozen=True)
class Role:
    """One role of an instruction.

    `what` says more of it in words: the operation, the register saved, the address. Of an operation
    and a step, `rounds` (1 to 20) and `quarter_rounds` (1 to 4) are those in which the instruction
    is executed for it, none for the additions behind the rounds; `words` are the numbers of the
    words of the state that it makes. All are in ascending order.
    """

    part: Part
    what: str
    rounds: tuple[int, ...] = ()
    quarter_rounds: tuple[int, ...] = ()
    words: tuple[int, ...] = ()


@dataclass(frozen=True)
class MemoryAccess:
    """A load or store of an instruction.

    `kind` is `read` or `write`. `region` is dst, key, counter, stack or code, empty where the
    address belongs to no single one. The first byte is `offset` bytes from the start of the region
    (of the image for code, from the stack pointer at entry for the stack), and `per_block` more in
    each further block; `offset` is None where it is no constant. `holds` says what is written, as
    far as it is known; `secret` whether that depends on a secret.
    """

    kind: str
    region: str
    offset: int | None
    per_block: int
    size: int
    holds: str = ""
    secret: bool = False


@dataclass(frozen=True)
class ListedInstruction:
    """One instruction: address, bytes in the order of the file in hexadecimal, text.

    `executed` is whether any call in the contract comes to it.
    """

    address: int
    code: str
    text: str
    executed: bool
    roles: tuple[Role, ...] = ()
    accesses: tuple[MemoryAccess, ...] = ()


@dataclass(frozen=True)
class MemoryRegion:
    """Memory that the function may use: the bytes from `first` to `behind`, the first behind it.

    For dst they are those of one block. For the stack they are counted from the stack pointer at
    entry: what the frame, the red zone and the ABI's slots in the caller's frame take.
    """

    name: str
    first: int
    behind: int
    readable: bool
    writable: bool
    secret: bool


@dataclass(frozen=True)
class Anatomy:
    """One variant of a function: its code, and the memory that it may use.

    `frame` is the lowest stack pointer, in bytes from the one at entry; None where it is no
    constant.
    """

    variant: str
    instructions: tuple[ListedInstruction, ...]
    regions: tuple[MemoryRegion, ...]
    frame: int | None


@dataclass(frozen=True)
class Held:
    """What a register, or a place on the stack, holds whenever a loop's head is reached.

    `kind`: `constant`, `advances` (by `step` in each pass), `counter` (the block's), `state` (words
    of the state) or `unknown` (nothing is assumed of it). `value` in words; `index` stands there
    for the number of blocks finished.
    """

    place: str
    kind: str
    value: str
    step: int = 0
