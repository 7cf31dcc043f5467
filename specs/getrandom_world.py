"""What the vDSO's getrandom meets and what comes out of it: data page, system calls, effects.

Nothing here says what the function does; that is `specs.getrandom`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from specs import chacha20
from specs.opaque_state import ByteOrder, State


@dataclass(frozen=True)
class Port:
    """What differs between architectures: bits of size_t and of pointers, byte order, page size."""

    bits: int
    byte_order: ByteOrder
    page_bytes: int


@dataclass(frozen=True, slots=True)
class Call[V]:
    """The arguments; `flags` has 32 bits, the others those of size_t. Pointers are addresses."""

    buffer: V
    len: V
    flags: V
    opaque_state: V
    opaque_len: V


class Place(StrEnum):
    """What an access goes to, for the order of accesses."""

    IS_READY = "is_ready of the data page"
    CURRENT_GENERATION = "generation of the data page"
    IN_USE = "in_use"
    GENERATION = "generation"
    POS = "pos"
    BATCH = "batch"
    KEY = "key"
    BUFFER = "buffer"


@dataclass(frozen=True, slots=True)
class Load:
    """A read."""

    place: Place


@dataclass(frozen=True, slots=True)
class Store[V]:
    """A write, and of a scalar the value."""

    place: Place
    value: V | None = None


@dataclass(frozen=True, slots=True)
class Barrier:
    """What stands before it in program order happens before what stands behind it."""


@dataclass(frozen=True, slots=True)
class SystemCall[V]:
    """getrandom(buffer, len, flags) of the kernel: getrandom(2)."""

    buffer: V
    len: V
    flags: V


type Event[V] = Load | Store[V] | Barrier | SystemCall[V]


@dataclass(frozen=True, slots=True)
class Answer[V]:
    """What a system call returns (bytes given, or a negative errno) and puts at its buffer's start.

    `written` has at most `len` bytes. The kernel may have written more than it says, for instance
    when it returns EFAULT.
    """

    result: V
    written: tuple[V, ...]


class Environment[V](Protocol):
    """What surrounds a call. Methods are called in the order in which things happen."""

    def is_ready(self) -> V:
        """Return what this read of the data page's is_ready gives, 8 bits."""

    def generation(self) -> V:
        """Return what this read of the data page's generation gives, 64 bits."""

    def system_call(self, call: SystemCall[V], /) -> Answer[V]:
        """Return what this system call returns and writes."""

    def meanwhile(self, state: State[V], /) -> State[V]:
        """Return the state after what happens to it before the access that comes next.

        The page of the state may be dropped or wiped, and a signal handler may call the function.
        """


def undisturbed[V](state: State[V]) -> State[V]:
    """Nothing happens to the state."""
    return state


class Script[V]:
    """An environment that is written down beforehand: successive reads, answers, and disturbances.

    The last value of `is_ready` and `generations` is read for ever, as of a page that does not
    change. Raises ValueError when a system call has no answer.
    """

    def __init__(
        self,
        is_ready: Sequence[V],
        generations: Sequence[V],
        answers: Iterable[Answer[V]] = (),
        meanwhile: Callable[[State[V]], State[V]] = undisturbed,
    ) -> None:
        self._is_ready = _held(is_ready)
        self._generations = _held(generations)
        self._answers = iter(answers)
        self._meanwhile = meanwhile

    def is_ready(self) -> V:
        return next(self._is_ready)

    def generation(self) -> V:
        return next(self._generations)

    def system_call(self, call: SystemCall[V], /) -> Answer[V]:
        for answer in self._answers:
            return answer
        raise ValueError(f"the script has no answer to {call}")

    def meanwhile(self, state: State[V], /) -> State[V]:
        return self._meanwhile(state)


def _held[V](items: Sequence[V]) -> Iterator[V]:
    yield from items
    while True:
        yield items[-1]


@dataclass(frozen=True, slots=True)
class Batch[V]:
    """`count` bytes of a batch from byte `start` on; both have the width of size_t."""

    batch: tuple[V, ...]
    start: V
    count: V


@dataclass(frozen=True, slots=True)
class Keystream[V]:
    """`count` bytes, a multiple of 64, of ChaCha20 blocks from a 64-bit block counter on."""

    key: tuple[V, ...]
    counter: V
    count: V


@dataclass(frozen=True, slots=True)
class Filled[V]:
    """Bytes that the system call wrote."""

    octets: tuple[V, ...]


@dataclass(frozen=True, slots=True)
class Write[V]:
    """Bytes that go into the buffer, `offset` bytes behind its start."""

    offset: V
    content: Batch[V] | Keystream[V] | Filled[V]


def content_bytes(content: Batch[int] | Keystream[int] | Filled[int]) -> bytes:
    """Return the bytes of one write."""
    match content:
        case Batch(batch, start, count):
            return bytes(batch[start : start + count])
        case Keystream(key, counter, count):
            return chacha20.stream(key, counter, count // 64)
        case Filled(octets):
            return bytes(octets)


def content_size(content: Batch[int] | Keystream[int] | Filled[int]) -> int:
    """Return the number of bytes of one write."""
    return len(content.octets) if isinstance(content, Filled) else content.count


def buffer_after(before: bytes, writes: Iterable[Write[int]]) -> bytes:
    """Return what a buffer that held `before` holds after the writes, made one after the other."""
    buffer = bytearray(before)
    for write in writes:
        content = content_bytes(write.content)
        buffer[write.offset : write.offset + len(content)] = content
    return bytes(buffer)


@dataclass(frozen=True)
class Outcome[V]:
    """What a call does.

    `result`: the return value; errors are negative errnos. `writes`: what goes into the buffer, in
    order. `state`: the state afterwards. `parameters`: the 16 words of 32 bits that are stored at
    opaque_state instead, if the call is the query. `events`: accesses and system calls in order.
    """

    result: V
    writes: tuple[Write[V], ...]
    state: State[V]
    parameters: tuple[V, ...] | None
    events: tuple[Event[V], ...]

    @property
    def system_calls(self) -> tuple[SystemCall[V], ...]:
        """The system calls in order."""
        return tuple(event for event in self.events if isinstance(event, SystemCall))
