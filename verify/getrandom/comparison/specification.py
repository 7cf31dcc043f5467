"""What the specification does under the conditions of one path of the code.

It runs on terms. A comparison that the path's conditions decide goes that way; for any other both
ways are followed. What the path read of the data page, of the state's generation and of in_use, and
what its system calls returned, is what the specification meets, read by read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from specs.getrandom import Run, attempt, begin, decline, give_up
from specs.getrandom_world import (
    Answer,
    Batch,
    Call,
    Keystream,
    Load,
    Outcome,
    Place,
    Port,
    Store,
    SystemCall,
)
from specs.opaque_state import BATCH_BYTES, KEY_BYTES, PADDING_OFFSET, STATE_BYTES, State
from verify.getrandom.comparison.trace import Copied, Erased, Made, Met, Refilled, Streamed, Trace
from verify.getrandom.reasoning.questions import Facts, Questions
from verify.terms import (
    Term,
    add,
    binary,
    concat,
    const,
    equal,
    extract,
    iff_else,
    negate,
    subtract,
    unsigned_less,
    var,
    zero_extend,
)

WORDS = 16


class _Undecided(Exception):
    """A comparison that the facts leave open."""

    def __init__(self, condition: Term) -> None:
        super().__init__(repr(condition))
        self.condition = condition


class Differs(Exception):
    """The specification reads or asks for more than the path did."""


class TermValues:
    """The values of `specs.getrandom` as terms; comparisons are decided by the facts."""

    def __init__(self, facts: Facts, questions: Questions) -> None:
        self._facts = facts
        self._questions = questions
        self.blocks: list[tuple[tuple[Term, ...], Term]] = []

    def const(self, value: int, bits: int, /) -> Term:
        return const(value, bits)

    def add(self, a: Term, b: Term, /) -> Term:
        return add(a, b)

    def sub(self, a: Term, b: Term, /) -> Term:
        return subtract(a, b)

    def masked(self, a: Term, mask: int, /) -> Term:
        return binary("bvand", a, const(mask, a.width))

    def shifted_right(self, a: Term, amount: int, /) -> Term:
        return binary("bvlshr", a, const(amount, a.width))

    def resized(self, a: Term, bits: int, /) -> Term:
        return extract(a, bits - 1, 0) if bits <= a.width else zero_extend(a, bits - a.width)

    def minimum(self, a: Term, b: Term, /) -> Term:
        return iff_else(unsigned_less(b, a), b, a)

    def equal(self, a: Term, b: Term, /) -> bool:
        return self._decided(equal(a, b))

    def less(self, a: Term, b: Term, /) -> bool:
        return self._decided(unsigned_less(a, b))

    def join(self, octets: Sequence[Term], /) -> Term:
        return concat(*octets)

    def split(self, word: Term, /) -> tuple[Term, ...]:
        return tuple(extract(word, low + 7, low) for low in range(0, word.width, 8))

    def erased(self, octets: Sequence[Term], start: Term, count: Term, /) -> tuple[Term, ...]:
        # Ranges are compared, not bytes: what is erased is part of the trace.
        del start, count
        return tuple(octets)

    def block(self, key: Sequence[Term], counter: Term, /) -> tuple[Term, ...]:
        number = len(self.blocks)
        self.blocks.append((tuple(key), counter))
        return block_words(number)

    def _decided(self, condition: Term) -> bool:
        for claim, answer in ((condition, True), (negate(condition), False)):
            if self._questions.follows(self._facts, claim):
                return answer
        raise _Undecided(condition)


def block_words(number: int) -> tuple[Term, ...]:
    """What stands for the words of the block of that number."""
    return tuple(var(f"block {number} word {word}", 32) for word in range(WORDS))


class _World:
    """What the path has met."""

    def __init__(self, met: Met) -> None:
        self._ready = iter(met.ready)
        self._current = iter(met.current)
        self._generations = list(met.generations)
        self._results = iter(met.results)
        self._keys = 0
        self._reads = 0
        self._passed = False

    def is_ready(self) -> Term:
        return _next(self._ready)

    def generation(self) -> Term:
        self._reads += 1
        self._passed = False
        return _next(self._current)

    def system_call(self, call: SystemCall[Term], /) -> Answer[Term]:
        written: tuple[Term, ...] = ()
        if call.len.value == KEY_BYTES:
            self._keys += 1
            written = octets(f"answer {self._keys}", KEY_BYTES)
        return Answer(_next(self._results), written)

    def meanwhile(self, state: State[Term], /) -> State[Term]:
        # One read of the state's generation is the first access behind an odd read of the current
        # one, another the last in front of an even one. The trace shows whether that is so.
        if self._reads % 2:
            number = self._reads - 1 + self._passed
            self._passed = True
            if number < len(self._generations):
                return replace(state, generation=self._generations[number])
        return state


def _next(values: Iterator[Term]) -> Term:
    found = next(values, None)
    if found is None:
        raise Differs
    return found


def octets(name: str, size: int) -> tuple[Term, ...]:
    """Variables for bytes that have a name together."""
    return tuple(var(f"{name} byte {n}", 8) for n in range(size))


@dataclass(frozen=True)
class Begin:
    """Where the specification begins: at the entry, or with another attempt; and whether it is
    that of a function that declines every call."""

    pos: Term
    counter: Term
    again: bool
    declines: bool = False


@dataclass(frozen=True)
class Specified:
    """What the specification does under `facts`; `outcome` is None where another attempt follows.
    `pos` and `counter` are those at the end."""

    facts: Facts
    outcome: Outcome[Term] | None
    trace: Trace
    pos: Term
    counter: Term


def specified(
    port: Port, call: Call[Term], begins: Begin, met: Met, facts: Facts, questions: Questions
) -> Iterator[Specified | None]:
    """What the specification does, for each way in which the facts leave it to go; None for one
    that reads more than the path did."""
    pending = [facts]
    while pending:
        assumed = pending.pop()
        try:
            yield _run(port, call, begins, met, assumed, questions)
        except _Undecided as open_:
            pending += [
                (*assumed, way)
                for way in (open_.condition, negate(open_.condition))
                if questions.possible((*assumed, way), assumed)
            ]
        except Differs:
            yield None


def _run(
    port: Port, call: Call[Term], begins: Begin, met: Met, facts: Facts, questions: Questions
) -> Specified:
    values = TermValues(facts, questions)
    state = State(
        batch=octets("batch", BATCH_BYTES),
        key=octets("state", KEY_BYTES),
        generation=met.generations[0] if met.generations else var("generation unread", 64),
        pos=begins.pos,
        in_use=met.in_use[0] if met.in_use else var("in_use unread", 8),
        padding=octets("padding", STATE_BYTES - PADDING_OFFSET),
    )
    run = Run(values, port, call, state, _World(met))
    run.counter = begins.counter
    if begins.declines:
        outcome: Outcome[Term] | None = decline(run)
    else:
        outcome = attempt(run) if begins.again else begin(run) or attempt(run)
    if begins.again and outcome is None:
        outcome = give_up(run)
    trace = _trace(run, values)
    return Specified(facts, outcome, trace, run.state.pos, run.counter)


class _Names:
    """The names of keys and the numbers of batches, by what stands for their contents."""

    def __init__(self, little: bool, values: TermValues) -> None:
        self._little = little
        self.keys: dict[tuple[Term, ...], str] = {}
        self.epochs: dict[Term, int] = {octets("batch", 1)[0]: 0}
        for name in ("state", *(f"answer {n}" for n in range(1, 3))):
            self._key(name, octets(name, KEY_BYTES))
        for number in range(0, len(values.blocks), 2):
            written = [
                byte
                for part in (number, number + 1)
                for word in block_words(part)
                for byte in values.split(word)
            ]
            self.epochs[written[0]] = number // 2 + 1
            self._key(f"refill {number // 2 + 1}", tuple(written[BATCH_BYTES:]))

    def _key(self, name: str, content: tuple[Term, ...]) -> None:
        quads = (content[4 * n : 4 * n + 4] for n in range(KEY_BYTES // 4))
        words = tuple(concat(*(quad[::-1] if self._little else quad)) for quad in quads)
        self.keys[words] = name


def _trace(run: Run[Term], values: TermValues) -> Trace:
    """The trace of a run: its events, with what its writes and blocks say of them."""
    names = _Names(run.port.byte_order == "little", values)
    writes = iter(run.writes)
    refills = iter(range(0, len(values.blocks), 2))
    trace = Trace()
    key_read = False
    for event in run.events:
        match event:
            case Load(Place.BATCH):
                write = next(writes)
                assert isinstance(write.content, Batch)
                content = write.content
                epoch = names.epochs[content.batch[0]]
                trace.last.buffer.append(Copied(write.offset, epoch, content.start, content.count))
                trace.last.batch.append(Erased(epoch, content.start, content.count))
            case Load(Place.KEY):
                key_read = True
            case Store(Place.BUFFER) if key_read:
                key_read = False
                write = next(writes)
                assert isinstance(write.content, Keystream)
                stream = write.content
                name = names.keys[stream.key]
                trace.last.buffer.append(Streamed(write.offset, name, stream.counter, stream.count))
            case Store(Place.BATCH) if key_read:
                key_read = False
                number = next(refills)
                (key, counter), (same, following) = values.blocks[number : number + 2]
                assert same == key and following is add(counter, const(1, 64))
                trace.last.batch.append(Refilled(names.keys[key], counter))
            case Store(Place.POS, pos):
                assert pos is not None
                trace.last.pos = pos
            case Load(place) if place in (
                Place.IS_READY,
                Place.CURRENT_GENERATION,
                Place.IN_USE,
                Place.GENERATION,
            ):
                trace.made(Made(f"reads {place}", ()))
            case Store(place, value) if place in (Place.IN_USE, Place.GENERATION):
                assert value is not None
                trace.made(Made(f"writes {place}", (value,)))
            case SystemCall(buffer, length, flags):
                trace.made(Made("system call", (buffer, length, flags)))
    return trace
