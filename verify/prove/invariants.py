"""Guesses of what holds at the head of the block loop.

Nothing here is believed: `verify.prove.induction` proves each guess or drops it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verify.lift.engine import Engine
from verify.lift.machine import Machine
from verify.prove.cfg import ControlFlow, NaturalLoop
from verify.prove.explore import MAX_STEPS, feasible, guards_of, step
from verify.prove.setting import Variables, high_word, low_word
from verify.terms import (
    Linear,
    Term,
    concat,
    conjunction,
    const,
    evaluate,
    extract,
    linear,
    postorder,
    sign_extend,
    substitute,
    var,
    variables,
)

FRESH = "loop_"
"""Prefix of the variables that stand for what is not known at the loop's head."""
_CHUNK = 32
_MAX_FORKS = 32
"""Branches to pass on the way to the block loop's, which is the first that depends on nblocks."""
_TURNING_POINTS = (0x7FFF_FFFF, 0xFFFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF)
"""Counters whose successor changes the sign or carries, in either word."""


@dataclass(frozen=True)
class Location:
    """Bytes of the register file (`space` is `register`) or of a memory region."""

    space: str
    index: Linear | None
    offset: int
    size: int


@dataclass(frozen=True)
class Invariant:
    """The value of a location at the loop's head, in terms of `index` and `block_count`.

    `kind`: `constant`, `advances`, `counter` or, where not all of it is known, `unknown`.
    """

    location: Location
    value: Term
    kind: str


@dataclass(frozen=True)
class Guess:
    """The block loop, its first two arrivals, and whether it is left in the head's own block
    before a pass, not behind it."""

    loop: NaturalLoop
    first: Machine
    second: Machine
    tested_at_head: bool


def locations(machine: Machine) -> Iterator[tuple[Location, Any]]:
    """Every location of which something is known, but dst, with its value."""
    for offset, size, value in machine.registers:
        yield Location("register", None, offset, size), value
    for (region, index), cells in machine.memory.cells().items():
        if region != "dst":
            for offset, size, value in cells:
                yield Location(region, index, offset, size), value


def read(machine: Machine, location: Location) -> Term:
    """The value of a location, without recording an access."""
    if location.index is None:
        value = machine.registers.read(location.offset, location.size)
    else:
        cells = machine.memory.region(location.space, location.index)
        value = cells.read(location.offset, location.size)
    return machine.converter.term(value)


def write(machine: Machine, location: Location, value: Term) -> None:
    """Give a location a value, without recording an access."""
    leaf = machine.converter.leaf(value)
    if location.index is None:
        machine.registers.write(location.offset, leaf)
    else:
        machine.memory.region(location.space, location.index).write(location.offset, leaf)


def _symbolic_loop(flow: ControlFlow, block: int, machines: list[Machine]) -> NaturalLoop | None:
    """The smallest loop around the block that one of the machines leaves and one stays in."""
    for loop in sorted(flow.loops, key=lambda loop: len(loop.blocks)):
        inside = [machine.pc in loop.blocks for machine in machines]
        if block in loop.blocks and any(inside) and not all(inside):
            return loop
    return None


def guess(
    engine: Engine,
    flow: ControlFlow,
    entry: Machine,
    nblocks: Term,
    contract: tuple[Term, ...],
) -> Guess | None:
    """The loop whose exit depends on `nblocks`, with the states of two arrivals at its head;
    None when no branch inside a loop depends on it."""
    heads = {loop.head for loop in flow.loops}
    first: dict[int, Machine] = {}
    been: set[object] = set()
    pending = [entry]
    total = forks = 0
    while pending and total < MAX_STEPS and forks < _MAX_FORKS:
        machine = pending.pop()
        block = machine.pc
        if block in heads:
            first.setdefault(block, machine.copy())
            state = machine.fingerprint()
            if state in been:
                continue
            been.add(state)
        before = len(machine.steps)
        successors = step(engine, flow, machine)
        total += len(successors[0].machine.steps) - before
        live = [
            s.machine
            for s in successors
            if len(successors) == 1 or feasible(contract, guards_of(s.machine))
        ]
        if len(successors) > 1:
            forks += 1
            condition = successors[0].machine.guards[-1]
            term = successors[0].machine.converter.term(condition)
            if nblocks in variables([term]):
                loop = _symbolic_loop(flow, block, [s.machine for s in successors])
                if loop is not None and loop.head in first:
                    inside = next((m for m in live if m.pc in loop.blocks), None)
                    second = inside and _arrive(engine, flow, inside, loop)
                    if second:
                        at_head = block == loop.head and len(loop.blocks) > 1
                        return Guess(loop, first[loop.head], second, at_head)
        pending.extend(m for m in live if m.pc != block or len(successors) == 1)
    return None


def _arrive(
    engine: Engine, flow: ControlFlow, machine: Machine, loop: NaturalLoop
) -> Machine | None:
    """Follow one path inside the loop until its head."""
    start = len(machine.steps)
    while machine.pc != loop.head:
        inside = [s.machine for s in step(engine, flow, machine) if s.machine.pc in loop.blocks]
        if not inside or len(inside[0].steps) - start > MAX_STEPS:
            return None
        machine = inside[0]
    return machine


def _samples(terms: list[Term], count: Term) -> list[dict[Term, int]]:
    """Assignments of all variables; the counter stands at its wraps, too."""
    generator = random.Random(0x6368616368613230)
    free = [term for term in postorder([*terms, count]) if term.op == "var"]
    samples = []
    for value in (None, *_TURNING_POINTS):
        sample = {term: generator.getrandbits(max(term.width, 1)) for term in free}
        if value is not None:
            sample[count] = value
        samples.append(sample)
    return samples


class Templates:
    """The guessed invariants of all locations that differ between two arrivals."""

    def __init__(self, guessed: Guess, names: Variables) -> None:
        self._names = names
        self._pairs = {
            location: (read(guessed.first, location), guessed.second.converter.term(value))
            for location, value in locations(guessed.second)
        }
        terms = [term for pair in self._pairs.values() for term in pair]
        guards = guards_of(guessed.second)
        samples = _samples([*terms, *guards], names.count)
        # Only counters with which the path is taken tell what it does to them.
        taken = conjunction(guards)
        held = [sample for sample in samples if evaluate([taken], sample)[taken]]
        self._samples = held or samples
        self._values = [evaluate(terms, sample) for sample in self._samples]

    def __iter__(self) -> Iterator[Invariant]:
        for location, (before, after) in self._pairs.items():
            if before is not after:
                yield self._guess(location, before, after)

    def _guess(self, location: Location, before: Term, after: Term) -> Invariant:
        counter = self._counter(location, before, after)
        if counter is not None:
            return Invariant(location, counter, "counter")
        if before.width == self._names.pointer_bits:
            delta = linear(after).plus(linear(before), -1)
            if delta.is_constant:
                move = Linear(before.width, 0, {self._names.index: delta.constant})
                return Invariant(location, linear(before).plus(move).term(), "advances")
        return Invariant(location, _unchanged(location, before, after), "unknown")

    def _counter(self, location: Location, before: Term, after: Term) -> Term | None:
        """Each 32-bit chunk that is a counter word at both arrivals, as that word."""
        if before.width % _CHUNK:
            return None
        counts = [sample[self._names.count] for sample in self._samples]
        following = [(count + 1) % (1 << 64) for count in counts]
        chunks: list[Term] = []
        signs: list[int] = []
        found = False
        for low in range(0, before.width, _CHUNK):
            old = [(values[before] >> low) & 0xFFFF_FFFF for values in self._values]
            new = [(values[after] >> low) & 0xFFFF_FFFF for values in self._values]
            for shift, word in ((0, low_word), (32, high_word)):
                if old == [(c >> shift) & 0xFFFF_FFFF for c in counts] and new == [
                    (c >> shift) & 0xFFFF_FFFF for c in following
                ]:
                    chunks.append(word(self._names.block_count))
                    found = True
                    break
            else:
                chunks.append(self._filling(location, low, old + new, signs, chunks))
            signs = [0xFFFF_FFFF if value >> 31 else 0 for value in old + new]
        return concat(*reversed(chunks)) if found else None

    def _filling(
        self,
        location: Location,
        low: int,
        values: list[int],
        signs: list[int],
        below: list[Term],
    ) -> Term:
        """A chunk that is no counter word: zero, the sign of the one below, or not known."""
        if not any(values):
            return const(0, _CHUNK)
        if below and values == signs:
            return extract(sign_extend(below[-1], _CHUNK), 2 * _CHUNK - 1, _CHUNK)
        return _unknown(location, low, _CHUNK)


def _unchanged(location: Location, before: Term, after: Term) -> Term:
    """The 32-bit chunks that are the same at both arrivals, and variables for the others."""
    chunks = []
    for low in range(0, before.width, _CHUNK):
        high = min(low + _CHUNK, before.width) - 1
        one, two = (extract(value, high, low) for value in (before, after))
        chunks.append(one if one is two else None)
    if not any(chunks):
        return fresh(location)
    parts = (
        _unknown(location, n * _CHUNK, min(_CHUNK, before.width - n * _CHUNK))
        if part is None
        else part
        for n, part in enumerate(chunks)
    )
    return concat(*reversed(list(parts)))


def fresh(location: Location) -> Term:
    """The variable for what is not known of a location at the loop's head."""
    return var(f"{FRESH}{location.space}_{location.offset}_{location.size}", 8 * location.size)


def weaker(location: Location, old: Invariant | None, arrived: Term, names: Variables) -> Invariant:
    """What may still hold of a location whose invariant failed, `arrived` being its value at the
    first arrival: the counter words in it, or nothing.

    One that seemed to be constant may hold a counter word that few passes change.
    """
    block_count = names.block_count
    if old is None:
        (moving,) = substitute([arrived], {names.count: block_count})
        if moving is not arrived:
            return Invariant(location, moving, "counter")
    if old is not None and old.value.op == "concat":
        position = 8 * location.size
        parts = []
        for part in old.value.args:
            position -= part.width
            counted = part.op == "extract" and part.args[0] is block_count
            parts.append(part if counted else _unknown(location, position, part.width))
        weaker = concat(*parts)
        if weaker is not old.value and block_count in variables(parts):
            return Invariant(location, weaker, old.kind)
    return Invariant(location, fresh(location), "unknown")


def _unknown(location: Location, low: int, width: int) -> Term:
    """The variable for what is not known of a part of a location."""
    return var(f"{fresh(location).name}_{low}", width)
