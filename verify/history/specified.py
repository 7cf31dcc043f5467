"""What the specification says of a history, and where an execution departs from it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specs.getrandom import getrandom
from specs.getrandom_world import Answer as Given
from specs.getrandom_world import Port, SystemCall, buffer_after
from specs.opaque_state import STATE_BYTES, State, decode, encode, parameter_bytes
from specs.values import INT_VALUES
from verify.history.model import Done, Made

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.history.model import History, Program, Step


class _World:
    """What a step meets, as the specification's environment: see `specs.getrandom_world`."""

    def __init__(self, step: Step, port: Port, number: int, state: bytes) -> None:
        self.step = step
        self.port = port
        self.number = number
        self.current = step.generation
        self.answers = iter(step.answers)
        self.made: list[Made] = []
        self.at_call = state
        self.changed: bytes | None = None

    def is_ready(self) -> int:
        return self.step.is_ready

    def generation(self) -> int:
        return self.current

    def system_call(self, call: SystemCall[int], /) -> Given[int]:
        self.made.append(Made(self.number, call, self.at_call))
        answer = next(self.answers, None)
        if answer is None:
            raise Unanswered
        answer = answer.cut(call.len)
        if answer.generation is not None:
            self.current = answer.generation
        self.changed = answer.state
        return Given(answer.result, tuple(answer.written))

    def meanwhile(self, state: State[int], /) -> State[int]:
        if self.changed is not None:
            state, self.changed = decode(self.changed, self.port.byte_order), None
        self.at_call = encode(state, self.port.byte_order)
        return state


class Unanswered(Exception):
    """The specification makes a system call more than there are answers."""


def specified(program: Program, history: History) -> Iterator[Done]:
    """What each call of a history does, as the specification says.

    Raises Unanswered for a history whose answers are too few for it.
    """
    port = program.port
    state = bytes(STATE_BYTES)
    for step in history:
        if step.state is not None:
            state = step.state
        world = _World(step, port, program.architecture.system_calls.getrandom, state)
        outcome = getrandom(INT_VALUES, port, step.call, decode(state, port.byte_order), world)
        state = encode(outcome.state, port.byte_order)
        if outcome.events and isinstance(outcome.events[-1], SystemCall):
            # The fallback: what it meets is how the state is left.
            world.made[-1] = replace(world.made[-1], state=state)
        if world.changed is not None:
            state = world.changed
        if outcome.parameters is not None:
            parameters = parameter_bytes(port.byte_order)
            state = parameters + state[len(parameters) :]
        buffer = buffer_after(step.buffer, outcome.writes)
        yield Done(outcome.result, buffer, state, tuple(world.made))


def departure(expected: Sequence[Done], actual: Sequence[Done]) -> str:
    """The first thing that an execution does otherwise than the specification, on one line; empty
    where it does the same."""
    for number, (right, done) in enumerate(zip(expected, actual, strict=False)):
        for what in _differences(right, done):
            return f"call {number}: {what}"
    if len(actual) != len(expected):
        return f"{len(actual)} calls instead of {len(expected)}"
    return ""


def _differences(right: Done, done: Done) -> Iterator[str]:
    for number, (wanted, made) in enumerate(zip(right.made, done.made, strict=False)):
        if wanted.number != made.number or wanted.call != made.call:
            yield f"system call {number} is {_shown(made)} instead of {_shown(wanted)}"
        if wanted.state != made.state:
            where = _where(wanted.state, made.state)
            yield f"at system call {number} the state differs {where}"
    if len(right.made) != len(done.made):
        yield f"it makes {len(done.made)} system calls instead of {len(right.made)}"
    yield from done.breaches
    if right.result != done.result:
        yield f"it returns {done.result} instead of {right.result}"
    if right.buffer != done.buffer:
        yield f"the buffer differs {_where(right.buffer, done.buffer)}"
    if right.state != done.state:
        yield f"the state differs afterwards {_where(right.state, done.state)}"


def _shown(made: Made) -> str:
    call = made.call
    return f"{made.number}({call.buffer:#x}, {call.len}, {call.flags:#x})"


def _where(wanted: bytes, found: bytes) -> str:
    pairs = zip(wanted, found, strict=True)
    at = next(offset for offset, (one, other) in enumerate(pairs) if one != other)
    return f"at {at}: {found[at]:#04x} instead of {wanted[at]:#04x}"
