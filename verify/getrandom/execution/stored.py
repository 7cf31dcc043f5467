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
from verify.callpair import CallPair
from verify.getrandom.execution.account import account, account_of_pair
from verify.getrandom.execution.pairs import Pair
from verify.history.model import Answer, Interruption, Step
from verify.qemu import available

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.getrandom.execution.refute import Refutation
    from verify.getrandom.execution.seen import Seen
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


def stored_pair(program: Program, one: Seen) -> CallPair:
    """What a pair of calls of a program has shown."""
    return CallPair(
        one.text,
        calls_of(one.pair.steps),
        one.pair.seeds,
        tuple(map(_outcome, one.done)),
        one.observation,
        account_of_pair(program, one),
        available(program.architecture.name) or "",
    )


def pair_of(stored_one: CallPair) -> Pair:
    """The pair that results hold so; raises ValueError for what is none."""
    first, second = history_of(stored_one.calls)
    one, other = stored_one.seeds
    return Pair((first, second), (one, other))


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
        step.inside,
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
        call.inside,
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
