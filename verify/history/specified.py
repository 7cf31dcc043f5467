"""What the specification says of a history, and whether an interrupted call did what it may."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from specs.getrandom import Run, decline, getrandom
from specs.getrandom_world import Answer as Given
from specs.getrandom_world import SystemCall, buffer_after, content_size
from specs.opaque_state import STATE_BYTES, State, decode, encode, parameter_bytes
from specs.values import INT_VALUES, IntValues
from verify.history.model import Done, Made

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.history.model import History, Program, Step


@lru_cache(maxsize=1024)
def _block(key: tuple[int, ...], counter: int) -> tuple[int, ...]:
    return INT_VALUES.block(key, counter)


class _Remembering(IntValues):
    """Integers, with each block computed once."""

    def block(self, key: Sequence[int], counter: int) -> tuple[int, ...]:
        return _block(tuple(key), counter)


class Unanswered(Exception):
    """The specification makes a system call more than there are answers."""


class Overrun(Exception):
    """The specification writes more than a step has a buffer for."""


class _World:
    """What a step meets, as the specification's environment: see `specs.getrandom_world`.

    What is to happen in the midst of the call happens before the access or system call with the
    number `moment`; without one, nothing does. `moments` is how many there have been.
    """

    def __init__(self, program: Program, step: Step, state: bytes, moment: int | None) -> None:
        self.program = program
        self.step = step
        self.current = step.generation
        self.answers = iter(step.answers)
        self.made: list[Made] = []
        self.nested: list[Done] = []
        self.at_call = state
        self.changed: bytes | None = None
        self.moment = moment
        self.moments = 0
        self.due = False

    def _pass(self) -> None:
        if self.moments == self.moment:
            (interruption,) = self.step.interruptions
            self.due = True
            if interruption.generation is not None:
                self.current = interruption.generation
        self.moments += 1

    def settled(self, state: bytes) -> bytes:
        """The state after what has happened to it since its last access."""
        if self.changed is not None:
            state, self.changed = self.changed, None
        if self.due:
            self.due = False
            (interruption,) = self.step.interruptions
            if interruption.state is not None:
                state = interruption.state
            if interruption.call is not None:
                done = _call(self.program, interruption.call, state, None)
                self.nested.append(done)
                self.current, state = interruption.call.generation, done.state
        return state

    def is_ready(self) -> int:
        self._pass()
        return self.step.is_ready

    def generation(self) -> int:
        self._pass()
        return self.current

    def system_call(self, call: SystemCall[int], /) -> Given[int]:
        self._pass()
        number = self.program.architecture.system_calls.getrandom
        self.made.append(Made(number, call, self.at_call))
        answer = next(self.answers, None)
        if answer is None:
            raise Unanswered
        answer = answer.cut(call.len)
        if answer.generation is not None:
            self.current = answer.generation
        self.changed = answer.state
        return Given(answer.result, tuple(answer.written))

    def meanwhile(self, state: State[int], /) -> State[int]:
        self._pass()
        order = self.program.architecture.byte_order
        self.at_call = self.settled(encode(state, order))
        return decode(self.at_call, order)

    def finish(self) -> None:
        """Let happen what happens behind the last access."""
        self._pass()


def _call(program: Program, step: Step, state: bytes, moment: int | None) -> Done:
    """What one call does, as the specification says."""
    port = program.port
    world = _World(program, step, state, moment)
    before = decode(state, port.byte_order)
    given = _Remembering(), port, step.call, before, world
    outcome = decline(Run(*given)) if program.declines else getrandom(*given)
    state = encode(outcome.state, port.byte_order)
    if outcome.events and isinstance(outcome.events[-1], SystemCall):
        # The fallback: what it meets is how the state is left.
        world.made[-1] = replace(world.made[-1], state=state)
    if outcome.parameters is not None:
        parameters = parameter_bytes(port.byte_order)
        state = parameters + state[len(parameters) :]
    world.finish()
    if any(content_size(write.content) > len(step.buffer) for write in outcome.writes):
        raise Overrun
    return Done(
        result=outcome.result,
        buffer=buffer_after(step.buffer, outcome.writes),
        state=world.settled(state),
        made=tuple(world.made),
        interrupted=int(moment is not None and moment < world.moments),
        nested=tuple(world.nested),
    )


def specified(program: Program, history: History) -> Iterator[Done]:
    """What each call of a history does, as the specification says.

    Raises Unanswered for a history whose answers are too few for it, Overrun where a buffer is too
    small, ValueError for interruptions, whose effect depends on the code.
    """
    state = bytes(STATE_BYTES)
    for step in history:
        if step.state is not None:
            state = step.state
        if step.interruptions:
            raise ValueError("what an interruption does depends on where the code is interrupted")
        done = _call(program, step, state, None)
        state = done.state
        yield done


def possible(program: Program, step: Step) -> tuple[Done, ...]:
    """What a call with one interruption may do: one for each moment at which that can come.

    The moments are those between the accesses of the specification; the address is not looked at.
    Raises Unanswered as `specified` does.
    """
    state = bytes(STATE_BYTES) if step.state is None else step.state
    found: list[Done] = []
    while not found or found[-1].interrupted:
        found.append(_call(program, step, state, len(found)))
    return tuple(found[:-1])


def is_possible(done: Done, among: Sequence[Done]) -> bool:
    """Whether a call that was interrupted did one of these things, for all that its caller, the
    kernel and the signal handler's caller see.

    The states in the midst of it are not compared: code may be interrupted within what is one
    access of the specification.
    """
    return not done.breaches and _seen(done) in map(_seen, among)


def _seen(done: Done) -> tuple[object, ...]:
    nested = [(one.result, one.buffer, _calls(one), one.breaches) for one in done.nested]
    return done.result, done.buffer, done.state, _calls(done), nested


def _calls(done: Done) -> list[tuple[int, SystemCall[int]]]:
    return [(made.number, made.call) for made in done.made]
