"""Histories as results hold them, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specs.getrandom_world import Call
from verify.callhistory import (
    CallHistory,
    CallOutcome,
    HistoryCall,
    HistoryInterruption,
    KernelAnswer,
    SystemCallMade,
)
from verify.getrandom.account import account
from verify.history.model import Answer, Interruption, Step
from verify.qemu import available

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.getrandom.refute import Refutation
    from verify.history import Done, History, Program


def stored(program: Program, one: Refutation) -> CallHistory:
    """A refutation of a program."""
    *lines, what = account(program, one)
    return CallHistory(
        what,
        calls_of(one.history),
        tuple(map(_outcome, one.done)),
        tuple(map(_outcome, one.expected)),
        tuple(lines),
        available(program.architecture.name) or "",
    )


def calls_of(history: History) -> tuple[HistoryCall, ...]:
    """A history as results hold it."""
    return tuple(map(_call, history))


def history_of(calls: Iterable[HistoryCall]) -> History:
    """The history that results hold so; raises ValueError for what is none."""
    return tuple(map(_step, calls))


def _hex(content: bytes | None) -> str:
    return "" if content is None else content.hex()


def _bytes(text: str) -> bytes | None:
    return bytes.fromhex(text) if text else None


def _call(step: Step) -> HistoryCall:
    call = step.call
    return HistoryCall(
        call.buffer,
        call.len,
        call.flags,
        call.opaque_state,
        call.opaque_len,
        step.generation,
        int(step.is_ready),
        step.buffer.hex(),
        _hex(step.state),
        tuple(
            KernelAnswer(one.result, one.written.hex(), _hex(one.state), one.generation)
            for one in step.answers
        ),
        tuple(
            HistoryInterruption(
                one.address,
                one.after,
                _hex(one.state),
                one.generation,
                None if one.call is None else _call(one.call),
            )
            for one in step.interruptions
        ),
    )


def _step(call: HistoryCall) -> Step:
    return Step(
        Call(call.buffer, call.len, call.flags, call.opaque_state, call.opaque_len),
        call.generation,
        call.is_ready,
        bytes.fromhex(call.contents),
        _bytes(call.state),
        tuple(
            Answer(one.result, bytes.fromhex(one.written), _bytes(one.state), one.generation)
            for one in call.answers
        ),
        tuple(
            Interruption(
                one.address,
                _bytes(one.state),
                one.generation,
                None if one.call is None else _step(one.call),
                one.after,
            )
            for one in call.interruptions
        ),
    )


def _outcome(done: Done) -> CallOutcome:
    return CallOutcome(
        done.result,
        done.buffer.hex(),
        done.state.hex(),
        tuple(
            SystemCallMade(
                one.number, one.call.buffer, one.call.len, one.call.flags, one.state.hex()
            )
            for one in done.made
        ),
        tuple(map(_outcome, done.nested)),
        tuple(one.text for one in done.breaches),
    )
