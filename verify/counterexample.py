"""Inputs on which the real bytes of a ChaCha20 break a property, as results hold them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Look(Enum):
    """Where an execution shows that a property is broken."""

    RETURN = "return"
    """In memory and registers when the call has ended, however it did."""
    STACK_WRITE = "stack write"
    """On the stack, right behind the instruction that writes there."""
    REGISTER_WRITE = "register write"
    """In a register that is never to be written, right behind or before the instruction."""
    ACCESS = "access"
    """In a fault when what lies behind a region is not mapped."""
    REGISTER = "register"
    """In a register at return, which differs between two calls."""
    DEPENDENCE = "dependence"
    """In the condition, the address or the operand of a multiplication or division, which differs
    between two calls."""


@dataclass(frozen=True)
class Observation:
    """What to look at to see a property broken.

    `instruction` is an address; `region` and `offset` (in bytes from its start, or from the stack
    pointer at entry) are a place, `size` its bytes. What `look` does not need is None, empty or 0.
    """

    look: Look
    instruction: int | None = None
    register: str = ""
    region: str = ""
    offset: int = 0
    size: int = 0


@dataclass(frozen=True)
class RegisterValue:
    """A register and what it holds."""

    name: str
    value: int


@dataclass(frozen=True)
class StateWord:
    """One of the 16 words of the state: number, value in the specification as far as the code has
    come with it, and the registers (with the bits of a wider one) or places in memory that hold
    it; none where it is nowhere, or a constant that many hold."""

    word: int
    value: int
    held_in: tuple[str, ...]


@dataclass(frozen=True)
class Departure:
    """The operation of the specification at which the code leaves it.

    `block` counts from 0; `round` (1 to 20) and `quarter_round` (1 to 4) are 0 for the additions
    behind the rounds. `operation` is in words, `word` the number of the state word that it makes,
    `expected` its value. `visit` counts the executions of the deviating instruction in the call,
    from 1. `state` are the 16 words, and where the code has them then.
    """

    block: int
    round: int
    quarter_round: int
    operation: str
    word: int
    expected: int
    visit: int
    state: tuple[StateWord, ...]


@dataclass(frozen=True)
class Counterexample:
    """Inputs on which the real bytes break a property, and what they did.

    `key` is 8 words of 32 bits, `counter` a 64-bit number. `in_place` says that the key lay at
    dst + 96, as in getrandom()'s refill. `expected` and `actual` are texts (words in
    hexadecimal). `deviation` is the address of the first instruction at which the state leaves
    the specification, with its text. `executed_by` names what ran the bytes.

    `seed` chooses where the regions lay and what everything else held; `registers` have a value of
    their own at entry. Where the fault is a difference between two calls, `other_key` and
    `other_registers` are those of the second, all else being equal; a call of its own has none.
    `observation` says what to look at, `kind` what counts as the same fault. `block` is the first
    wrong block of output, `expected_words` and `actual_words` its 16 words. `notes` say how far the
    inputs are forced. `departure` is where a wrong word of the output comes from, `source` the line
    of the source of the deviating instruction ("file:line"), if the file tells.
    """

    key: tuple[int, ...]
    counter: int
    nblocks: int
    in_place: bool
    what: str
    expected: str
    actual: str
    deviation: int | None
    deviation_text: str
    executed_by: str
    kind: str = ""
    seed: int = 0
    registers: tuple[RegisterValue, ...] = ()
    other_key: tuple[int, ...] = ()
    other_registers: tuple[RegisterValue, ...] = ()
    observation: Observation = Observation(Look.RETURN)
    block: int | None = None
    expected_words: tuple[int, ...] = ()
    actual_words: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    departure: Departure | None = None
    source: str = ""
