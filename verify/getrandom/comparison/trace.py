"""What a path and the specification do, in a form in which the two can be compared.

A trace is a sequence of acts whose order matters: reads of the data page, reads and writes of
in_use and of the generation, system calls. Between two of them bytes move, in an interval.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from verify.terms import Term


@dataclass(frozen=True)
class Made:
    """An act, and its operands: the value written, or the arguments of a system call."""

    what: str
    operands: tuple[Term, ...]


@dataclass(frozen=True)
class Copied:
    """`size` bytes of a batch, from `start` on, go to the buffer from `to` on."""

    to: Term
    epoch: int
    start: Term
    size: Term


@dataclass(frozen=True)
class Streamed:
    """Blocks go to the buffer from `to` on; `size` is in bytes."""

    to: Term
    key: str
    counter: Term
    size: Term


@dataclass(frozen=True)
class Erased:
    """`size` bytes of a batch become zero."""

    epoch: int
    start: Term
    size: Term


@dataclass(frozen=True)
class Refilled:
    """Batch and key become the next two blocks."""

    key: str
    counter: Term


@dataclass
class Interval:
    """What happens between two acts: to the buffer and to the batch, each in order, and the value
    of pos at the end if it was written."""

    buffer: list[Copied | Streamed] = field(default_factory=list)
    batch: list[Erased | Refilled] = field(default_factory=list)
    pos: Term | None = None


class Trace:
    """Acts, and the intervals in front of each of them and behind the last."""

    def __init__(self) -> None:
        self.acts: list[Made] = []
        self.intervals = [Interval()]

    @property
    def last(self) -> Interval:
        """The interval at hand."""
        return self.intervals[-1]

    def made(self, act: Made) -> None:
        """An act, which ends an interval."""
        self.acts.append(act)
        self.intervals.append(Interval())


@dataclass(frozen=True)
class Met:
    """What a path has read, in order: is_ready and the current generation of the data page, the
    state's generation and in_use; and what its system calls have returned."""

    ready: tuple[Term, ...]
    current: tuple[Term, ...]
    generations: tuple[Term, ...]
    in_use: tuple[Term, ...]
    results: tuple[Term, ...]
