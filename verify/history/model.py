"""What is executed, a history of calls, and what each of them did. Every integer is unsigned,
except for results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from specs.getrandom_world import Call, Port, SystemCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.arch import Architecture
    from verify.arch.kerneldata import Layout


PERSISTENT = 100
"""Answers to system calls of one call; no call of the specification asks for more than three."""


@dataclass(frozen=True)
class Program:
    """A getrandom. Addresses are those of the image.

    `segments` are its loaded bytes as (address, bytes). `instructions` are the addresses of its
    instructions, `system_calls` of those that make a system call. `layout` is where the kernel has
    its data, from address 0. `toc` is what its caller puts into the register for it,
    None where there is no such thing. `declines` says that it is for a processor on which the
    function serves no call.
    """

    architecture: Architecture
    segments: tuple[tuple[int, bytes], ...]
    entry: int
    instructions: tuple[int, ...]
    system_calls: frozenset[int]
    layout: Layout
    toc: int | None = None
    declines: bool = False

    @property
    def page_bytes(self) -> int:
        """The size of a page."""
        return self.layout.page_bytes

    @property
    def data_page(self) -> int:
        """How many bytes in front of address 0 the generator's data lie, but for time
        namespaces."""
        return self.layout.data_page

    @property
    def port(self) -> Port:
        """What the specification has to know of it."""
        architecture = self.architecture
        return Port(architecture.bits, architecture.byte_order, self.page_bytes)


@dataclass(frozen=True)
class Answer:
    """What the kernel does in a system call, and what happens meanwhile.

    `result` is the number of bytes that it gives, or a negative errno; `written` goes to the start
    of its buffer; neither is more than the system call asks for. When it returns, the state is
    `state` (144 bytes) if something else has changed it, and the data page has `generation` if the
    kernel has reseeded.
    """

    result: int
    written: bytes = b""
    state: bytes | None = None
    generation: int | None = None

    def cut(self, size: int) -> Answer:
        """The answer to a system call that asks for `size` bytes."""
        return replace(self, result=min(self.result, size), written=self.written[:size])


@dataclass(frozen=True)
class Interruption:
    """What happens when a call first comes to the instruction at `address`, in front of it, after
    it has made `after` system calls.

    The state is replaced by `state` (144 bytes), as when its page is dropped or wiped; the data
    page gets `generation`; a signal handler makes `call`, whose `state` is None.
    """

    address: int
    state: bytes | None = None
    generation: int | None = None
    call: Step | None = None
    after: int = 0


@dataclass(frozen=True)
class Step:
    """One call and what it meets.

    `generation` and `is_ready` are in the data page when it begins, `buffer` (as many bytes as may
    be written) is at the call's buffer. The 144 bytes at its opaque_state are `state`, or where
    that is None, what the call in front of it left, wherever that had them. `answers` are given to
    its system calls in order. `inside` is whether it happens inside a time namespace; only a
    program whose layout has one may be called there.
    """

    call: Call[int]
    generation: int
    is_ready: int = 1
    buffer: bytes = b""
    state: bytes | None = None
    answers: tuple[Answer, ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    inside: bool = False


type History = tuple[Step, ...]


@dataclass(frozen=True)
class Made:
    """A system call that was made: its number, the three arguments (flags cut to 32 bits), and the
    state at that moment."""

    number: int
    call: SystemCall[int]
    state: bytes


class Harm(Enum):
    """What else a call can do that a caller may not expect."""

    MEMORY = "it writes memory that is not its own"
    STACK = "it writes what its caller has on the stack, or uses what lies below its own"
    REGISTER = "it does not restore a register, or has changed one that is reserved"
    ERROR = "it tells an error that has no number"
    STOPPED = "it ends in another way than by a return"
    ENDLESS = "it does not end"
    PERSISTENT = "it makes system call after system call"
    INCONCLUSIVE = "how it ends says nothing of the code"


@dataclass(frozen=True)
class Breach:
    """One such thing that a call did, with one line of text."""

    harm: Harm
    text: str


@dataclass(frozen=True)
class Left:
    """What is left where a call returns: what the registers hold, by the ABI's names, and the bytes
    of the stack that lie below its pointer at entry."""

    registers: Mapping[str, int]
    stack: bytes


@dataclass(frozen=True)
class Done:
    """What one call did.

    `result` is the number of bytes or a negative errno, however the function returns errors; None
    if it did not return. `buffer` and `state` are the bytes afterwards, `made` the system calls in
    order, `interrupted` how often it was, `nested` what the calls of signal handlers did.
    `breaches` say what else it did that a caller may not expect. `left` is None of a call that did
    not return, and of one that was not executed.
    """

    result: int | None
    buffer: bytes
    state: bytes
    made: tuple[Made, ...]
    interrupted: int = 0
    nested: tuple[Done, ...] = ()
    breaches: tuple[Breach, ...] = ()
    left: Left | None = field(default=None, compare=False, repr=False)
