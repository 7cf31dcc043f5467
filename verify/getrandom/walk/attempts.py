"""The two parts of a getrandom: up to its first return to the head of the retry loop, and from any
such return on.

Where paths come back to the head, whatever the first attempt has changed is replaced by variables
that stand for anything, so that one second attempt is executed for all of them. What is kept of it:
pos is at most 96; what lies in front of it in the batch is erased, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from specs.opaque_state import BATCH_BYTES
from verify.getrandom.reasoning.dependence import dependences
from verify.getrandom.walk.contracts import counter_at, set_counter
from verify.getrandom.walk.covering import ANYTHING, most_general
from verify.getrandom.walk.events import Field, PageRead, Zero
from verify.getrandom.walk.joins import Joins
from verify.getrandom.walk.loops import Closed
from verify.getrandom.walk.origins import DISCARDED
from verify.getrandom.walk.paths import Path, Walker
from verify.getrandom.walk.setting import Setting, entry_machine, granted, memory_of
from verify.lift.machine import Machine, Unsupported
from verify.lift.memory import STACK
from verify.terms import (
    Linear,
    Term,
    concat,
    conjunction,
    const,
    extract,
    linear,
    unsigned_less_equal,
    var,
    zero_extend,
)

AGAIN_POS = var("pos again", 8)
AGAIN_COUNTER = var("counter again", 64)
_BELOW = var("below again", 8)
"""Stands for what ChaCha20 may have left on the stack below in the first attempt."""
_WORD_BITS = 64
_MOST_READS = 16


@dataclass(frozen=True)
class Part:
    """All paths from one point on. `start` is where they begin, with no events but what is known to
    be erased; `returned` and `back` are those that return from the function, and those that come
    to the head of the retry loop once more. `counter` is ChaCha20's block counter at the start, and
    `slot` where it lies, from the stack pointer at entry; None if ChaCha20 is never called."""

    start: Path
    counter: Term
    slot: int | None
    returned: tuple[Path, ...]
    back: tuple[Path, ...]


class Attempts:
    """Executes the parts of one function."""

    def __init__(self, walker: Walker) -> None:
        self._walker = walker
        self._joins = Joins(walker)
        loops = walker.setting.flow.loops
        widest = max(loops, key=lambda loop: len(loop.blocks), default=None)
        self._head = widest.head if widest is not None and len(widest.blocks) > 1 else None

    @property
    def closed(self) -> Sequence[Closed]:
        """The loops that were closed by induction."""
        return self._joins.loops.closed

    def begun(self, more: Iterable[Term] = ()) -> Part:
        """All paths from the entry to where one comes to the head of the retry loop for the first
        time, or returns.

        `more` are assumptions on top of what a caller grants. Raises Unsupported.
        """
        setting = self._walker.setting
        machine = entry_machine(setting)
        part = self.part(Path(machine, (*granted(setting, machine), *more)), const(0, 64))
        return replace(part, back=tuple(replace(path, first=path) for path in part.back))

    def parts(self, begun: Part) -> tuple[Part, ...]:
        """The first part, which begins so, and second ones for all states that it comes back in.

        Raises Unsupported.
        """
        gone_on = self.part(begun.start, begun.counter, begun.back)
        first = replace(gone_on, returned=(*begun.returned, *gone_on.returned))
        starts = most_general(self.again(path, first.slot) for path in first.back)
        return first, *(self.part(start, AGAIN_COUNTER) for start in starts)

    def part(self, start: Path, counter: Term, paths: Sequence[Path] | None = None) -> Part:
        """All paths from the start, or from where some of them have come to, that end where one
        comes to the head of the retry loop."""
        returned, back = [], []
        pending = [start] if paths is None else list(paths)
        while pending:
            for after in self._joins.step(pending.pop()):
                if sum(isinstance(event, PageRead) for event in after.events) > _MOST_READS:
                    raise Unsupported(after.machine.pc, "the data page is read again and again")
                if after.returned:
                    returned.append(after)
                elif after.machine.pc != self._head:
                    pending.append(after)
                else:
                    back.append(after)
        slots = {memory_of(path.machine).counter for path in (*returned, *back)} - {None}
        if len(slots) > 1:
            raise Unsupported(self._walker.setting.entry, "ChaCha20's counter has two places")
        return Part(start, counter, next(iter(slots), None), tuple(returned), tuple(back))

    def again(self, path: Path, slot: int | None) -> Path:
        """The path at the head of the retry loop, with all that has changed unknown."""
        assert path.first is not None
        machine = path.machine.copy()
        memory = memory_of(machine)
        self._check_batch(path)
        for offset, size in _storages(self._walker.setting, machine):
            value = self._kept(path, machine, offset, size)
            machine.registers.write(offset, machine.converter.leaf(value))
        width = self._walker.setting.bits
        stack = memory.region(STACK, Linear(width, 0))
        before = memory_of(path.first.machine).region(STACK, Linear(width, 0))
        for offset, size, value in list(stack):
            was = machine.converter.term(before.read(offset, size))
            now = machine.converter.term(value)
            again = self._carried(path, was, now, f"{ANYTHING}stack {offset}")
            stack.write(offset, machine.converter.leaf(again))
        if slot is not None:
            left = counter_at(self._walker.setting, path.machine, slot)
            self._stands(path, AGAIN_COUNTER, dependences([left]))
            set_counter(self._walker.setting, machine, slot, AGAIN_COUNTER)
            memory.counter = slot
        memory.region(Field.POS, Linear(width, 0)).write(0, machine.converter.leaf(AGAIN_POS))
        left = path.machine.converter.term(memory_of(path.machine).pos())
        self._stands(path, AGAIN_POS, dependences([left]))
        memory.epoch, memory.key, memory.answers = 0, "state", 0
        self._stands(path, _BELOW, memory.below)
        memory.copied, memory.below = frozenset(), frozenset({_BELOW})
        facts = (*path.first.facts, unsigned_less_equal(AGAIN_POS, const(BATCH_BYTES, 8)))
        erased = Zero(
            self._walker.setting.entry,
            0,
            Linear(width, 0),
            linear(zero_extend(AGAIN_POS, width - 8)),
        )
        return Path(machine, facts, (erased,), path.breaches)

    def _stands(self, path: Path, unknown: Term, held: Iterable[Term]) -> None:
        """Note that what a variable stands for may depend on these where the path comes back."""
        memory = memory_of(path.machine)
        settled = memory.origins.settled(held, memory.copied, DISCARDED)
        memory.origins.stands_for(unknown, settled)

    def _carried(self, path: Path, was: Term, now: Term, name: str) -> Term:
        """A value where it is what it was, or constant; else the variable of that name, which
        stands for it where the path comes back."""
        if linear(now) == linear(was):
            return was
        if now.value is not None:
            return now
        unknown = var(name, now.width)
        self._stands(path, unknown, dependences([now]))
        return unknown

    def _kept(self, path: Path, machine: Machine, offset: int, size: int) -> Term:
        """A register's value, part by part, where it is what it was at first, or constant; else
        variables."""
        assert path.first is not None
        setting, first = self._walker.setting, path.first.machine
        now = machine.converter.term(machine.registers.read(offset, size))
        was = machine.converter.term(first.registers.read(offset, size))
        parts: list[Term] = []
        for high, low in _parts(setting, offset, now.width):
            part, name = setting.simplify(extract(now, high, low)), f"{ANYTHING}{offset}[{low}]"
            parts.append(self._carried(path, extract(was, high, low), part, name))
        return concat(*parts)

    def _check_batch(self, path: Path) -> None:
        """What is said of pos and the batch holds where the path comes back."""
        memory = memory_of(path.machine)
        width = self._walker.setting.bits
        pos = path.machine.converter.term(memory.pos())
        behind = zero_extend(pos, width - 8)
        claims = [unsigned_less_equal(pos, const(BATCH_BYTES, 8))]
        claims += [
            unsigned_less_equal(event.start.plus(event.size).term(), behind)
            for event in path.events
            if isinstance(event, Zero) and event.epoch == memory.epoch and not memory.disturbed
        ]
        if not self._walker.questions.follows(path.facts, conjunction(claims)):
            raise Unsupported(
                path.machine.pc, "more of the batch may be erased than lies before pos"
            )


def _storages(setting: Setting, machine: Machine) -> list[tuple[int, int]]:
    """(offset, size) in bytes of everything in the register file."""
    layout = setting.engine.layout
    found = {layout.enclosing(offset, size)[1:] for offset, size, _ in list(machine.registers)}
    return sorted(found)


def _parts(setting: Setting, offset: int, width: int) -> Iterator[tuple[int, int]]:
    """(high, low) bits of the words of a register, of the bits of conditions, and of what the ABI
    tells apart; the most significant first."""
    unit = 1 if offset in setting.conditions else _WORD_BITS
    bounds = {*range(0, width, unit), width}
    for register in setting.architecture.registers:
        place, _ = setting.engine.layout.registers[register.storage]
        if register.bits is not None and place == offset:
            high, low = register.bits
            bounds |= {high + 1, low}
    for high, low in pairwise(sorted(bounds, reverse=True)):
        yield high - 1, low
