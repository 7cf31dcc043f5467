"""The getrandom specification on Z3 terms: it computes what it does on integers, on every path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from specs.getrandom import getrandom
from specs.getrandom_world import (
    Answer,
    Batch,
    Call,
    Filled,
    Keystream,
    Load,
    Outcome,
    Place,
    Port,
    Script,
    Store,
    SystemCall,
    Write,
)
from specs.opaque_state import State, decode
from specs.values import INT_VALUES
from specs.z3values import Z3Values

PORT = Port(bits=64, byte_order="big", page_bytes=4096)
CAP = 2**31 - 4096


@dataclass
class Inputs:
    """Variables, and the values that they have in a comparison with integers."""

    values: list[tuple[z3.BitVecRef, z3.BitVecRef]] = field(default_factory=list)

    def variable(self, name: str, bits: int, value: int) -> z3.BitVecRef:
        term = z3.BitVec(name, bits)
        self.values.append((term, z3.BitVecVal(value, bits)))
        return term

    def octets(self, name: str, octets: bytes) -> tuple[z3.BitVecRef, ...]:
        return tuple(self.variable(f"{name}{i}", 8, octet) for i, octet in enumerate(octets))

    def substituted(self, term: z3.ExprRef) -> z3.ExprRef:
        return z3.simplify(z3.substitute(term, *self.values))

    def decide(self, condition: z3.BoolRef) -> bool:
        return bool(z3.is_true(self.substituted(condition)))

    def number(self, term: z3.BitVecRef) -> int:
        return int(self.substituted(term).as_long())

    def numbers(self, octets: Sequence[z3.BitVecRef]) -> tuple[int, ...]:
        """Evaluate bytes together, since they share most of their terms."""
        if not octets:
            return ()
        joined = self.number(z3.Concat(*octets, z3.BitVecVal(0, 8)))
        return tuple(joined.to_bytes(len(octets) + 1)[:-1])


class EvaluatedBlocks(Z3Values):
    """ChaCha20's blocks as variables, whose values are those that the integers give."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(inputs.decide)
        self._inputs = inputs

    def block(
        self, key: Sequence[z3.BitVecRef], counter: z3.BitVecRef, /
    ) -> tuple[z3.BitVecRef, ...]:
        words = [self._inputs.number(word) for word in key]
        number = len(self._inputs.values)
        values = INT_VALUES.block(words, self._inputs.number(counter))
        return tuple(
            self._inputs.variable(f"block{number}_{i}", 32, value) for i, value in enumerate(values)
        )


@dataclass(frozen=True)
class Situation:
    call: Call[int]
    memory: bytes
    ready: int
    generations: tuple[int, ...]
    answers: tuple[Answer[int], ...]

    def on_integers(self) -> Outcome[int]:
        world = Script([self.ready], self.generations, self.answers)
        return getrandom(INT_VALUES, PORT, self.call, decode(self.memory, "big"), world)

    def on_terms(self, inputs: Inputs) -> Outcome[z3.BitVecRef]:
        state = decode(self.memory, "big")
        call = self.call
        return getrandom(
            EvaluatedBlocks(inputs),
            PORT,
            Call(
                buffer=inputs.variable("buffer", 64, call.buffer),
                len=inputs.variable("len", 64, call.len),
                flags=inputs.variable("flags", 32, call.flags),
                opaque_state=inputs.variable("opaque_state", 64, call.opaque_state),
                opaque_len=inputs.variable("opaque_len", 64, call.opaque_len),
            ),
            State(
                batch=inputs.octets("batch", bytes(state.batch)),
                key=inputs.octets("key", bytes(state.key)),
                generation=inputs.variable("generation", 64, state.generation),
                pos=inputs.variable("pos", 8, state.pos),
                in_use=inputs.variable("in_use", 8, state.in_use),
                padding=inputs.octets("padding", bytes(state.padding)),
            ),
            Script(
                [inputs.variable("ready", 8, self.ready)],
                [inputs.variable(f"read{i}", 64, g) for i, g in enumerate(self.generations)],
                [
                    Answer(
                        inputs.variable(f"result{i}", 64, answer.result),
                        inputs.octets(f"answer{i}_", bytes(answer.written)),
                    )
                    for i, answer in enumerate(self.answers)
                ],
            ),
        )


def evaluated_write(inputs: Inputs, write: Write[z3.BitVecRef]) -> Write[int]:
    content: Batch[int] | Keystream[int] | Filled[int]
    match write.content:
        case Batch(batch, start, count):
            content = Batch(inputs.numbers(batch), inputs.number(start), inputs.number(count))
        case Keystream(key, counter, count):
            words = tuple(inputs.number(word) for word in key)
            content = Keystream(words, inputs.number(counter), inputs.number(count))
        case Filled(octets):
            content = Filled(inputs.numbers(octets))
    return Write(inputs.number(write.offset), content)


def signed(value: int) -> int:
    return value - 2**64 if value >> 63 else value


situations = st.builds(
    Situation,
    call=st.builds(
        Call,
        buffer=st.integers(0, 2**64 - 1),
        len=st.one_of(st.integers(1, 200), st.integers(0, 2**64 - 1)),
        flags=st.integers(0, 8),
        opaque_state=st.sampled_from((0x7000, 0x7F70, 0x7F71)),
        opaque_len=st.sampled_from((144, 144, 144, 143)),
    ),
    memory=st.builds(
        lambda octets, generation, pos, in_use: (
            octets + generation.to_bytes(8, "big") + bytes((pos, in_use)) + bytes(6)
        ),
        st.binary(min_size=128, max_size=128),
        st.sampled_from((0, 7, 7, 8)),
        st.integers(0, 96),
        st.sampled_from((0, 0, 0, 1)),
    ),
    ready=st.sampled_from((1, 1, 1, 0)),
    generations=st.sampled_from(((7,), (7,), (7, 8), (7, 8, 8, 9))),
    answers=st.lists(
        st.sampled_from(
            (Answer(32, tuple(range(32))), Answer(32, tuple(range(32))), Answer(-4, ()))
        ),
        min_size=3,
        max_size=3,
    ).map(tuple),
)


@settings(max_examples=10)
@given(situations)
def test_terms_evaluate_to_the_integers(situation: Situation) -> None:
    inputs = Inputs()
    terms, numbers = situation.on_terms(inputs), situation.on_integers()
    assert signed(inputs.number(terms.result)) == numbers.result
    assert tuple(evaluated_write(inputs, write) for write in terms.writes) == numbers.writes
    state = terms.state
    assert inputs.numbers((*state.batch, *state.key)) == (*numbers.state.batch, *numbers.state.key)
    scalars = [inputs.number(term) for term in (state.generation, state.pos, state.in_use)]
    assert scalars == [numbers.state.generation, numbers.state.pos, numbers.state.in_use]
    assert inputs.numbers(state.padding) == numbers.state.padding
    for ours, theirs in zip(terms.events, numbers.events, strict=True):
        match ours, theirs:
            case SystemCall(), SystemCall():
                fields = (inputs.number(ours.buffer), inputs.number(ours.len))
                assert fields == (theirs.buffer, theirs.len)
                assert inputs.number(ours.flags) == theirs.flags
            case Store(value=z3.BitVecRef() as value), Store():
                assert Store(ours.place, inputs.number(value)) == theirs
            case _:
                assert ours == theirs


class NamedBlocks(Z3Values):
    """ChaCha20 as an uninterpreted function."""

    function = z3.Function("block", *[z3.BitVecSort(32)] * 8, z3.BitVecSort(64), z3.BitVecSort(512))

    def block(
        self, key: Sequence[z3.BitVecRef], counter: z3.BitVecRef, /
    ) -> tuple[z3.BitVecRef, ...]:
        whole = self.function(*key, counter)
        return tuple(z3.Extract(32 * i + 31, 32 * i, whole) for i in range(16))


@dataclass(frozen=True)
class Path:
    """What is assumed on a path, in a solver, and what comes out of it."""

    solver: z3.Solver
    outcome: Outcome[z3.BitVecRef]


def octets_named(name: str, count: int) -> tuple[z3.BitVecRef, ...]:
    return tuple(z3.BitVec(f"{name}{i}", 8) for i in range(count))


CALL = Call(
    buffer=z3.BitVec("buffer", 64),
    len=z3.BitVec("len", 64),
    flags=z3.BitVec("flags", 32),
    opaque_state=z3.BitVec("opaque_state", 64),
    opaque_len=z3.BitVec("opaque_len", 64),
)
STATE = State(
    batch=octets_named("batch", 96),
    key=octets_named("key", 32),
    generation=z3.BitVec("generation", 64),
    pos=z3.BitVec("pos", 8),
    in_use=z3.BitVec("in_use", 8),
    padding=octets_named("padding", 6),
)


def run_with(decide: Callable[[z3.BoolRef], bool]) -> Outcome[z3.BitVecRef]:
    generations = [z3.BitVec(f"read{i}", 64) for i in range(4)]
    answers = [
        Answer(z3.BitVec(f"result{i}", 64), octets_named(f"answer{i}_", 32)) for i in range(3)
    ]
    world = Script([z3.BitVec("ready", 8)], generations, answers)
    return getrandom(NamedBlocks(decide), PORT, CALL, STATE, world)


class Explorer:
    """Decides as the solver allows, and keeps the ways that were not taken for later."""

    def __init__(self) -> None:
        self.waiting: list[tuple[bool, ...]] = [()]
        self._begin(())

    def _begin(self, way: tuple[bool, ...]) -> None:
        self._way = way
        self.conditions: list[z3.BoolRef] = []
        self._solver = z3.Solver()
        self._solver.add(z3.ULE(STATE.pos, 96))

    def _possible(self, condition: z3.BoolRef) -> bool:
        result = self._solver.check(condition)
        assert result != z3.unknown
        return bool(result == z3.sat)

    def decide(self, condition: z3.BoolRef) -> bool:
        number = len(self.conditions)
        if number == len(self._way):
            yes = self._possible(condition)
            if yes and self._possible(z3.Not(condition)):
                self.waiting.append((*self._way, False))
            self._way = (*self._way, yes)
        taken = self._way[number]
        self.conditions.append(condition if taken else z3.Not(condition))
        self._solver.add(self.conditions[-1])
        return taken

    def paths(self) -> Iterator[Path]:
        """Yield every path of the specification, with pos at most 96."""
        while self.waiting:
            self._begin(self.waiting.pop())
            outcome = run_with(self.decide)
            yield Path(self._solver, outcome)


@cache
def paths() -> tuple[Path, ...]:
    return tuple(Explorer().paths())


def must(path: Path, claim: z3.BoolRef) -> None:
    assert path.solver.check(z3.Not(claim)) == z3.unsat


def served(path: Path) -> bool:
    """Did the function itself fill the buffer?"""
    writes = path.outcome.writes
    return bool(writes) and not isinstance(writes[-1].content, Filled)


def test_whatever_the_length_and_the_state() -> None:
    """What holds on each of the paths holds for all arguments, states, reads and results."""
    kinds = Counter(kind(path) for path in paths())
    assert set(kinds) == {"query", "EFAULT", "nothing", "served", "kernel"}
    for path in paths():
        CLAIMS[kind(path)](path)


def kind(path: Path) -> str:
    if path.outcome.parameters is not None:
        return "query"
    if not path.outcome.writes:
        return "nothing" if Load(Place.IS_READY) in path.outcome.events else "EFAULT"
    return "served" if served(path) else "kernel"


def claim_query(path: Path) -> None:
    assert path.outcome.state == STATE
    assert not path.outcome.events
    must(path, z3.And(path.outcome.result == 0, CALL.opaque_len == 2**64 - 1, CALL.len == 0))


def claim_fault(path: Path) -> None:
    assert path.outcome.state == STATE
    assert not path.outcome.events
    last = CALL.opaque_state + 143
    must(path, z3.And(path.outcome.result == -14, z3.Or(last & 4095 < 143, z3.ULT(last, 143))))


def claim_nothing(path: Path) -> None:
    assert path.outcome.state == STATE
    must(path, z3.And(path.outcome.result == 0, CALL.len == 0))


def claim_served(path: Path) -> None:
    """min(len, cap) bytes without a gap, and in_use is clear; each system call was for a key."""
    outcome = path.outcome
    must(path, outcome.result == z3.If(z3.ULT(CALL.len, CAP), CALL.len, CAP))
    must(path, outcome.state.in_use == 0)
    end = z3.BitVecVal(0, 64)
    for write in outcome.writes:
        assert not isinstance(write.content, Filled)
        must(path, z3.Or(write.offset == end, write.offset == 0))
        end = write.offset + write.content.count
    must(path, end == outcome.result)
    for call in outcome.system_calls:
        must(path, z3.And(call.buffer == CALL.opaque_state + 96, call.len == 32, call.flags == 0))
    must(path, z3.And(z3.ULE(outcome.state.pos, 96), outcome.state.padding[0] == STATE.padding[0]))
    for place in (0, 47, 95):
        erased = outcome.state.batch[place] == 0
        must(path, z3.Or(erased, z3.ULE(outcome.state.pos, place), z3.UGT(STATE.pos, place)))


def claim_kernel(path: Path) -> None:
    """The last system call has the arguments, and its result is returned."""
    outcome = path.outcome
    *before, last = outcome.system_calls
    assert last == SystemCall(CALL.buffer, CALL.len, CALL.flags)
    must(path, outcome.result == z3.BitVec(f"result{len(before)}", 64))
    if Store(Place.IN_USE, z3.BitVecVal(1, 8)) in outcome.events:
        must(path, outcome.state.in_use == 0)
    else:
        assert outcome.state == STATE


CLAIMS = {
    "query": claim_query,
    "EFAULT": claim_fault,
    "nothing": claim_nothing,
    "served": claim_served,
    "kernel": claim_kernel,
}
