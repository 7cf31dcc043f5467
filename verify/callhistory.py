"""A history of calls of a getrandom that breaks a property, as results hold it.

It has all that is needed to execute it again. Bytes are texts in hexadecimal, in the order of
memory. A `state` is the 144 bytes at opaque_state; where it may be empty, nothing is said of it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelAnswer:
    """What a system call gives: the number of bytes or a negative errno, and what it writes. When
    it returns, the state has become `state` and the data page has `generation`, unless that is
    empty or None."""

    result: int
    written: str
    state: str = ""
    generation: int | None = None


@dataclass(frozen=True)
class HistoryInterruption:
    """What happens in front of an instruction when a call first comes there after so many system
    calls: the state becomes `state`, the data page has `generation`, a signal handler makes a call;
    unless that is empty or None."""

    address: int
    after: int
    state: str = ""
    generation: int | None = None
    call: HistoryCall | None = None


@dataclass(frozen=True)
class HistoryCall:
    """The arguments of a call and what it meets: the data page's `generation` and `is_ready`, the
    `contents` of the buffer as far as it may be written, the state, or if that is empty what the
    call before has left, the answers to its system calls, and whether all this is `inside` a time
    namespace."""

    buffer: int
    len: int
    flags: int
    opaque_state: int
    opaque_len: int
    generation: int
    is_ready: int
    contents: str
    state: str
    answers: tuple[KernelAnswer, ...] = ()
    interruptions: tuple[HistoryInterruption, ...] = ()
    inside: bool = False


@dataclass(frozen=True)
class SystemCallMade:
    """A system call: its number, its first three arguments, and the state at that moment."""

    number: int
    buffer: int
    len: int
    flags: int
    state: str


@dataclass(frozen=True)
class CallOutcome:
    """What a call did: its result (None if it did not return), buffer and state afterwards, its
    system calls, what the calls of signal handlers did, and what a caller may not expect, one line
    each."""

    result: int | None
    buffer: str
    state: str
    system_calls: tuple[SystemCallMade, ...] = ()
    nested: tuple[CallOutcome, ...] = ()
    breaches: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallHistory:
    """Calls one after the other with one state, of which the last one breaks a property.

    `what` says how, on one line; `outcomes` is what the calls did, `specified` what they should
    have done, which is empty where a call is interrupted. `account` is the same in words, line by
    line. `executed_by` names what ran the bytes.
    """

    what: str
    calls: tuple[HistoryCall, ...]
    outcomes: tuple[CallOutcome, ...]
    specified: tuple[CallOutcome, ...]
    account: tuple[str, ...]
    executed_by: str
