"""Compare what a path does with what the specification does under its conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from specs.getrandom_contract import ARGUMENTS
from specs.getrandom_world import Call, Place
from specs.opaque_state import parameter_bytes
from verify.getrandom.claims import COMPARED, THIRD, Claim, Difference
from verify.getrandom.comparison.kept import not_kept
from verify.getrandom.comparison.specification import Begin, Specified, specified
from verify.getrandom.comparison.trace import (
    Copied,
    Erased,
    Made,
    Met,
    Refilled,
    Streamed,
    Trace,
)
from verify.getrandom.reasoning.questions import Facts, Questions
from verify.getrandom.walk.answers import port_of, returned
from verify.getrandom.walk.attempts import Part
from verify.getrandom.walk.contracts import counter_at
from verify.getrandom.walk.events import (
    BatchRead,
    Constant,
    Copy,
    Event,
    Field,
    FieldRead,
    FieldWrite,
    Keystream,
    PageRead,
    Refill,
    SystemCall,
    Zero,
    reads_current,
)
from verify.getrandom.walk.paths import Path
from verify.getrandom.walk.ranges import joined
from verify.getrandom.walk.setting import Setting, memory_of
from verify.history.memory import READY_OFFSET
from verify.terms import Term, const, equal, extract

_CHECK = f"reads {Place.GENERATION}"
_POS_COUNTS = ("system call", _CHECK, "return")
"""In front of which acts pos has to be right."""
WHOLE = COMPARED - {Claim.PARAMS}
"""What a path says nothing of any more that does other acts than the specification."""


def differences(
    setting: Setting, part: Part, questions: Questions, *, again: bool, declines: bool = False
) -> Iterator[Difference]:
    """Everything in which the paths of a part were not shown to do what the specification does.

    `again` is whether the part is a second attempt, `declines` whether every call is declined.
    """
    if again and part.back:
        yield Difference(WHOLE | {Claim.ABI}, THIRD)
    for path in (*part.returned, *part.back):
        comparison = _Comparison(setting, part, path, questions, again=again, declines=declines)
        yield from comparison.differences()


class _Comparison:
    def __init__(
        self,
        setting: Setting,
        part: Part,
        path: Path,
        questions: Questions,
        *,
        again: bool,
        declines: bool,
    ) -> None:
        self._setting, self._part, self._path = setting, part, path
        self._questions, self._again, self._declines = questions, again, declines
        self._events = path.events[len(part.start.events) :]
        self._trace, self._met = _trace(setting, self._events)

    def differences(self) -> Iterator[Difference]:
        path, setting = self._path, self._setting
        yield from (one for one in path.breaches if Claim.ABI in one.claims)
        if path.returned:
            for reason in not_kept(setting, path, self._questions):
                yield self._differs(Claim.ABI, reason)
        begins = Begin(self._pos(), self._part.counter, self._again, self._declines)
        call = Call(*(setting.argument(name) for name in ARGUMENTS))
        for wanted in specified(
            port_of(setting), call, begins, self._met, path.facts, self._questions
        ):
            if wanted is None:
                yield self._differs(WHOLE, "it reads less than the specification, or asks less")
            else:
                yield from self._compared(wanted)

    def _differs(self, claims: frozenset[Claim] | Claim, reason: str) -> Difference:
        claims = frozenset({claims}) if isinstance(claims, Claim) else claims
        end = self._path.machine.instruction - self._setting.base
        return Difference(claims, f"on a path that ends at {end:#x}: {reason}")

    def _compared(self, wanted: Specified) -> Iterator[Difference]:
        outcome, path = wanted.outcome, self._path
        if (outcome is not None) != path.returned:
            yield self._differs(COMPARED, "it returns where it should try again, or not")
            return
        yield from self._acts(wanted)
        if outcome is not None and outcome.parameters is not None:
            yield from self._query()
        else:
            yield from self._served(wanted)
        if outcome is None:
            return
        result, told = returned(self._setting, path.machine)
        if not self._same(wanted.facts, result, outcome.result):
            yield self._differs(COMPARED, "another result is returned")
        if not self._questions.follows(wanted.facts, told):
            what = "an error is told as none, or another result as an error"
            yield self._differs(COMPARED, what)

    def _same(self, facts: Facts, one: Term, other: Term) -> bool:
        return one.width == other.width and self._questions.follows(facts, equal(one, other))

    def _acts(self, wanted: Specified) -> Iterator[Difference]:
        """The acts are the same, in the same order."""
        ours, theirs = self._trace.acts, wanted.trace.acts
        if [one.what for one in ours] != [one.what for one in theirs]:
            what = next(
                (
                    f"{one.what} instead of {other.what}"
                    for one, other in zip(ours, theirs, strict=False)
                    if one.what != other.what
                ),
                f"{len(ours)} acts instead of {len(theirs)}",
            )
            yield self._differs(COMPARED, what)
            return
        for one, other in zip(ours, theirs, strict=True):
            pairs = zip(one.operands, other.operands, strict=True)
            if not all(self._same(wanted.facts, *pair) for pair in pairs):
                yield self._differs(WHOLE, f"{one.what}: another operand")

    def _moves(self, wanted: Specified) -> Iterator[Difference]:
        """Between the acts the same bytes move."""
        facts = wanted.facts
        ours = theirs = self._pos()
        acts = [*(act.what for act in self._trace.acts), "return"]
        pairs = zip(acts, self._trace.intervals, wanted.trace.intervals, strict=False)
        for act, mine, other in pairs:
            if not self._all_same(facts, mine.buffer, other.buffer):
                yield self._differs(
                    frozenset({Claim.STREAM, Claim.ERASURE}),
                    f"in front of {act!r} other bytes go to the buffer",
                )
            if not self._all_same(facts, mine.batch, other.batch):
                yield self._differs(
                    frozenset({Claim.STREAM, Claim.ERASURE}),
                    f"in front of {act!r} other bytes of the batch are erased or refilled",
                )
            ours = ours if mine.pos is None else mine.pos
            theirs = theirs if other.pos is None else other.pos
            if act in _POS_COUNTS and not self._same(facts, ours, theirs):
                yield self._differs(
                    frozenset({Claim.STREAM, Claim.ERASURE}), f"at {act!r} pos is another"
                )

    def _pos(self) -> Term:
        start = self._part.start.machine
        return start.converter.term(memory_of(start).pos())

    def _all_same(
        self,
        facts: Facts,
        ours: list[Copied | Streamed] | list[Erased | Refilled],
        theirs: list[Copied | Streamed] | list[Erased | Refilled],
    ) -> bool:
        mine, other = (
            [move for move in moves if not self._nothing(facts, move)] for moves in (ours, theirs)
        )
        return len(mine) == len(other) and all(
            self._same_move(facts, *pair) for pair in zip(mine, other, strict=True)
        )

    def _nothing(self, facts: Facts, move: Copied | Streamed | Erased | Refilled) -> bool:
        if isinstance(move, Refilled):
            return False
        return self._same(facts, move.size, const(0, move.size.width))

    def _same_move(self, facts: Facts, one: object, other: object) -> bool:
        if type(one) is not type(other):
            return False
        assert isinstance(one, Copied | Streamed | Erased | Refilled)
        pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(one)]
        return all(self._same(facts, a, b) if isinstance(a, Term) else a == b for a, b in pairs)

    def _claimed(self) -> Iterator[Difference]:
        """Nothing of the state is used but while in_use is set by this call."""
        held, over = self._again, False
        for event in self._events:
            if isinstance(event, FieldWrite) and event.field is Field.IN_USE:
                over = held
                held = event.value.value == 1 and not over
            elif _uses_state(event) and not held:
                yield self._differs(Claim.REENTRY, "it uses the state without having it")
                return
        if self._path.returned and held:
            yield self._differs(Claim.REENTRY, "it returns and keeps the state")

    def _handed_over(self, wanted: Specified) -> Iterator[Difference]:
        """What the next attempt begins with is what the specification's does."""
        part, machine = self._part, self._path.machine
        if part.slot is None:
            counter = const(0, 64)
        else:
            counter = counter_at(self._setting, machine, part.slot)
        if not self._same(wanted.facts, counter, wanted.counter):
            yield self._differs(
                frozenset({Claim.STREAM, Claim.ERASURE}),
                "another block counter is left to the second attempt",
            )

    def _served(self, wanted: Specified) -> Iterator[Difference]:
        """All that a call does that is not the query, but for its acts and its result."""
        if any(isinstance(event, Constant) for event in self._events):
            yield self._differs(WHOLE, "it writes a constant over the batch")
        yield from self._moves(wanted)
        yield from self._claimed()
        if wanted.outcome is None:
            yield from self._handed_over(wanted)

    def _query(self) -> Iterator[Difference]:
        """The query writes the parameters over the first bytes of the state, and nothing else."""
        written: dict[int, int] = {}
        order = self._setting.architecture.byte_order
        for event in self._events:
            if not isinstance(event, Constant | Zero) or not (
                event.start.is_constant and event.size.is_constant
            ):
                yield self._differs(COMPARED, "the query does more")
                return
            value = event.value if isinstance(event, Constant) else 0
            data = value.to_bytes(event.size.constant, order)
            written.update(enumerate(data, event.start.constant))
        if written != dict(enumerate(parameter_bytes(order))):
            yield self._differs(Claim.PARAMS, "other parameters are written")


def _uses_state(event: Event) -> bool:
    match event:
        case FieldRead(_, field, _):
            return field is not Field.IN_USE
        case FieldWrite() | BatchRead() | Zero() | Keystream() | Refill():
            return True
    return False


def _trace(setting: Setting, events: tuple[Event, ...]) -> tuple[Trace, Met]:
    """The trace of some events, and what they met."""
    trace = Trace()
    met: dict[str, list[Term]] = {field.name: [] for field in fields(Met)}
    for event in joined(_in_order(events)):
        match event:
            case PageRead(_, address, size, value, offset):
                if reads_current(event):
                    met["current"].append(value)
                    trace.made(Made(f"reads {Place.CURRENT_GENERATION}", ()))
                elif (offset, size) == (READY_OFFSET, 1):
                    met["ready"].append(value)
                    trace.made(Made(f"reads {Place.IS_READY}", ()))
                else:
                    there = address - setting.base
                    trace.made(Made(f"reads {size} bytes at {there:#x}", ()))
            case FieldRead(_, Field.GENERATION, value):
                met["generations"].append(value)
                trace.made(Made(_CHECK, ()))
            case FieldRead(_, Field.IN_USE, value):
                met["in_use"].append(value)
                trace.made(Made(f"reads {Place.IN_USE}", ()))
            case FieldRead(_, Field.FIRST_WORD | Field.SECOND_WORD as word, _):
                trace.made(Made(f"reads {word}", ()))
            case FieldWrite(_, Field.POS, value):
                trace.last.pos = value
            case FieldWrite(_, field, value):
                trace.made(Made(f"writes {field}", (value,)))
            case SystemCall(_, number, buffer, length, flags, result):
                met["results"].append(result)
                wanted = setting.architecture.system_calls.getrandom
                what = "system call"
                if number.value != wanted:
                    what = "system call of another number"
                trace.made(Made(what, (buffer, length, extract(flags, 31, 0))))
            case Copy():
                trace.last.buffer.append(
                    Copied(event.to.term(), event.epoch, event.start.term(), event.size.term())
                )
            case Zero():
                trace.last.batch.append(Erased(event.epoch, event.start.term(), event.size.term()))
            case Keystream(_, to, key, counter, size):
                trace.last.buffer.append(Streamed(to.term(), key, counter, size))
            case Refill(_, key, counter):
                trace.last.batch.append(Refilled(key, counter))
    return trace, Met(**{name: tuple(values) for name, values in met.items()})


def _in_order(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """The events with the two reads of a check in the order that the specification has.

    Nothing lies between them, and either order is right: the generation that the state has is read
    behind all that was taken from it, and a reseed that is not seen comes behind the call.
    """
    found = list(events)
    current = [n for n, one in enumerate(found) if reads_current(one)]
    for n in current[1::2]:
        behind = found[n + 1 : n + 2]
        if behind and isinstance(behind[0], FieldRead) and behind[0].field is Field.GENERATION:
            found[n : n + 2] = [behind[0], found[n]]
    return tuple(found)
