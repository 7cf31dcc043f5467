"""What is asked of the getrandom specification on a history, exactly and by its promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from specs.getrandom import getrandom
from specs.getrandom_contract import keeps_promise
from specs.getrandom_world import (
    Answer,
    Barrier,
    Batch,
    Call,
    Event,
    Filled,
    Keystream,
    Load,
    Outcome,
    Place,
    Port,
    Store,
    SystemCall,
    Write,
    buffer_after,
)
from specs.opaque_state import PARAMETERS, State, encode, parameter_bytes, zeroed
from specs.values import INT_VALUES
from tests.specs.getrandom_histories import Step, World
from tests.specs.getrandom_model import Life
from tests.specs.uninterpreted import UninterpretedValues

WINDOW = 320
"""So many bytes of each buffer are compared."""


class QuietWorld(World):
    """A world in which nothing happens to the state during a call."""

    def system_call(self, call: SystemCall[int], /) -> Answer[int]:
        answer = super().system_call(call)
        assert keeps_promise(call, answer)
        return answer

    def meanwhile(self, state: State[int], /) -> State[int]:
        return state


def window(writes: Sequence[Write[int]]) -> bytes:
    """Return the first bytes of a buffer that was zero."""
    clipped = []
    for write in writes:
        content = write.content
        if isinstance(content, Keystream):
            content = replace(content, count=min(content.count, WINDOW + 64 & ~63))
        if write.offset < WINDOW:
            clipped.append(Write(write.offset, content))
    return buffer_after(bytes(WINDOW), clipped)[:WINDOW]


def agrees_with_model(port: Port, history: Sequence[Step]) -> None:
    """Run specification and model through the same history, and compare all that can be seen."""
    state = zeroed(INT_VALUES)
    life = Life(port.bits, port.byte_order == "big", port.page_bytes, WINDOW)
    ours, theirs = QuietWorld(), World()
    for step in history:
        match step.before:
            case "zero":
                state = zeroed(INT_VALUES)
                life = Life(port.bits, port.byte_order == "big", port.page_bytes, WINDOW)
            case "interrupted":
                state, life.busy = replace(state, in_use=1), True
        call = step.call(port)
        ours.enter(step)
        theirs.enter(step)
        outcome = getrandom(INT_VALUES, port, call, state, ours)
        arguments = (call.buffer, call.len, call.flags, call.opaque_state, call.opaque_len)
        seen = life.call(arguments, theirs)
        assert outcome.result == seen.result
        assert [(c.buffer, c.len, c.flags) for c in outcome.system_calls] == seen.calls
        assert encode(outcome.state, port.byte_order) == life.memory()
        assert window(outcome.writes) == seen.buffer
        assert (outcome.parameters is not None) == (seen.parameters is not None)
        if outcome.parameters is not None:
            assert parameter_bytes(port.byte_order) == seen.parameters
            assert outcome.parameters == PARAMETERS
        state, life.busy = replace(outcome.state, in_use=0), False


@dataclass
class Ledger:
    """All bytes of key streams that were ever returned: per key, intervals of the stream."""

    values: UninterpretedValues
    given: dict[tuple[int, ...], list[range]] = field(default_factory=dict)

    def give(self, key: tuple[int, ...], span: range) -> None:
        assert any(key), "bytes under a key of zeros"
        before = self.given.setdefault(key, [])
        for other in before:
            assert span.stop <= other.start or other.stop <= span.start, "bytes given out twice"
        before.append(span)

    def enter(self, outcome: Outcome[int]) -> None:
        """Enter what a call returned, unless the kernel returned it."""
        if not outcome.writes or isinstance(outcome.writes[-1].content, Filled):
            return
        last = max(i for i, write in enumerate(outcome.writes) if write.offset == 0)
        length = 0
        for write in first_nonempty(outcome.writes, last):
            assert write.offset == length, "a gap in the buffer"
            match write.content:
                case Keystream(key, counter, count):
                    self.give(key, range(64 * counter, 64 * counter + count))
                case Batch(batch, start, count):
                    for octet in batch[start : start + count]:
                        origin = self.values.origin(octet)
                        assert origin, "a byte of no key stream"
                        self.give(origin.key, range(origin.at, origin.at + 1))
            length += write.content.count if not isinstance(write.content, Filled) else 0
        assert length == outcome.result

    def keeps_none(self, state: State[int], key: tuple[int, ...]) -> None:
        """Nothing that was given out is in the state or follows from the key in it."""
        assert key not in self.given, "the key of bytes that were given out"
        for number, octet in enumerate(state.batch):
            if origin := self.values.origin(octet):
                spans = self.given.get(origin.key, ())
                assert not any(origin.at in span for span in spans), "a byte was not erased"
                assert number >= state.pos or not state.generation, "a byte before pos"


def first_nonempty(writes: Sequence[Write[int]], last: int) -> Sequence[Write[int]]:
    """The writes of the last attempt: an empty write at 0 may stand before the first full one."""
    while last and writes[last - 1].offset == 0 and empty(writes[last - 1]):
        last -= 1
    return writes[last:]


def empty(write: Write[int]) -> bool:
    content = write.content
    return not isinstance(content, Filled) and content.count == 0


STATE = {Place.IN_USE, Place.GENERATION, Place.POS, Place.BATCH, Place.KEY}


def of_state(event: Event[int], key: int) -> bool:
    """Is it an access to the state, or a request for its key?"""
    if isinstance(event, Load | Store):
        return event.place in STATE
    return isinstance(event, SystemCall) and event.buffer == key


def in_order(call: Call[int], outcome: Outcome[int]) -> None:
    """in_use encloses all accesses; the generation is stored right before a key is requested."""
    key = call.opaque_state + 96
    touched = [event for event in outcome.events if of_state(event, key)]
    if touched:
        assert touched[0] == Load(Place.IN_USE)
    if touched[1:]:
        assert touched[1] == Store(Place.IN_USE, 1)
        assert touched[-1] == Store(Place.IN_USE, 0)
        assert Store(Place.IN_USE, 0) not in touched[:-1]
    requests = 0
    for number, event in enumerate(outcome.events):
        if isinstance(event, SystemCall) and event.buffer == key:
            requests += 1
            assert outcome.events[number - 1] == Barrier()
            before = outcome.events[number - 2]
            assert isinstance(before, Store)
            assert before.place is Place.GENERATION
            assert before.value
    assert requests <= 2
    assert len(outcome.system_calls) - requests <= 1


type Judge = Callable[[Call[int], Outcome[int]], None]


class UnrulyWorld(World):
    """A world that drops the state's page, or interrupts the call by a handler that calls, too."""

    def __init__(self, port: Port, values: UninterpretedValues, judge: Judge) -> None:
        super().__init__()
        self.port = port
        self.values = values
        self.judge = judge
        self.accesses = 0
        self.planned: dict[int, list[str]] = {}
        self.in_handler = False

    def fresh(self, count: int) -> tuple[int, ...]:
        return self.values.fresh(count)

    def run(self, step: Step, state: State[int]) -> State[int]:
        """Make a call, have it judged, and return the state afterwards."""
        self.enter(step)
        self.accesses, self.planned = 0, {}
        for place, event in step.meanwhile:
            self.planned.setdefault(place, []).append(event)
        return self._judged(step, state)

    def meanwhile(self, state: State[int], /) -> State[int]:
        if self.in_handler:
            return state
        events = self.planned.get(self.accesses, ())
        self.accesses += 1
        for event in events:
            if event == "drop":
                state = zeroed(self.values)
            else:
                self.in_handler = True
                state = self._judged(Step(length=70), state)
                self.in_handler = False
        return state

    def _judged(self, step: Step, state: State[int]) -> State[int]:
        call = step.call(self.port)
        outcome = getrandom(self.values, self.port, call, state, self)
        self.judge(call, outcome)
        return outcome.state


def states_of(world: UnrulyWorld, history: Sequence[Step]) -> Iterator[State[int]]:
    """Run a history in which the state is disturbed, and yield the state after each call."""
    state = zeroed(world.values)
    for step in history:
        if step.before == "zero":
            state = zeroed(world.values)
        if step.before == "fork":
            world.run(Step(length=100), zeroed(world.values))
        state = world.run(step, state)
        yield state


def gives_bytes_once(port: Port, history: Sequence[Step]) -> None:
    """Each byte is returned once at most and is gone then, and none comes from a zeroed state."""
    values = UninterpretedValues()
    ledger = Ledger(values)
    world = UnrulyWorld(port, values, lambda _, outcome: ledger.enter(outcome))
    for state in states_of(world, history):
        ledger.keeps_none(state, key_of(values, port, state))


def keeps_order(port: Port, history: Sequence[Step]) -> None:
    """Accesses and system calls come in the order in which they have to."""
    for state in states_of(UnrulyWorld(port, UninterpretedValues(), in_order), history):
        assert state.in_use == 0


def key_of(values: UninterpretedValues, port: Port, state: State[int]) -> tuple[int, ...]:
    quads = [state.key[4 * i : 4 * i + 4] for i in range(8)]
    little = port.byte_order == "little"
    return tuple(values.join(quad[::-1] if little else quad) for quad in quads)
