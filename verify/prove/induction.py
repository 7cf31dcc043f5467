"""The block loop, closed by induction.

The loop's head is a cut point. What holds there after `index` blocks is guessed from one concrete
pass and then proved: at the first arrival (base), and again after one pass through the body from
the guessed state (step). A location whose guess fails becomes a fresh variable, so that nothing
is assumed of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from verify.decide import Answer, valid
from verify.lift.engine import Engine
from verify.lift.machine import Machine, Unsupported
from verify.prove.cfg import ControlFlow, NaturalLoop
from verify.prove.explore import (
    MAX_FORKS,
    MAX_STEPS,
    Exploration,
    Path,
    explore,
    feasible,
    guards_of,
    step,
)
from verify.prove.obligation import Obligation
from verify.prove.setting import Variables, high_word, low_word
from verify.terms import (
    Linear,
    Term,
    add,
    concat,
    conjunction,
    const,
    equal,
    evaluate,
    extract,
    linear,
    postorder,
    sign_extend,
    substitute,
    unsigned_less,
    unsigned_less_equal,
    var,
    variables,
)

FRESH = "loop_"
"""Prefix of the variables that stand for what is not known at the loop's head."""
_MAX_REFINEMENTS = 12
_CHUNK = 32
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

    `kind`: `constant`, `advances`, `counter` or `unknown`.
    """

    location: Location
    value: Term
    kind: str


@dataclass(frozen=True)
class Loop:
    """The block loop: its head, what holds there, and every path through its body from there.

    `assumptions` hold at the head: the contract, the bound on `index`, and the definition of
    `block_count`.
    """

    head: int
    flow: NaturalLoop
    invariants: tuple[Invariant, ...]
    assumptions: tuple[Term, ...]
    body: Exploration
    start: Machine

    @property
    def arrivals(self) -> tuple[Path, ...]:
        """The paths through the body that come back to the head."""
        return tuple(path for path in self.body.paths if path.end == "cut")


@dataclass(frozen=True)
class _Guess:
    """The block loop, its first two arrivals, and whether it is left in the head's own block."""

    loop: NaturalLoop
    first: Machine
    second: Machine
    tested_at_head: bool


def _locations(machine: Machine) -> Iterator[tuple[Location, Any]]:
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


def _write(machine: Machine, location: Location, value: Term) -> None:
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
) -> _Guess | None:
    """The loop whose exit depends on `nblocks`, with the states of two arrivals at its head;
    None when no branch inside a loop depends on it."""
    heads = {loop.head for loop in flow.loops}
    first: dict[int, Machine] = {}
    been: set[object] = set()
    pending = [entry]
    total = forks = 0
    while pending and total < MAX_STEPS and forks < MAX_FORKS:
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
                        return _Guess(loop, first[loop.head], second, block == loop.head)
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


class _Templates:
    """Guesses the invariant of one location from its values at two arrivals."""

    def __init__(self, guessed: _Guess, names: Variables) -> None:
        self._names = names
        self._pairs = {
            location: (read(guessed.first, location), guessed.second.converter.term(value))
            for location, value in _locations(guessed.second)
        }
        terms = [term for pair in self._pairs.values() for term in pair]
        self._samples = _samples(terms, names.count)
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
        return Invariant(location, fresh(location), "unknown")

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


def fresh(location: Location) -> Term:
    """The variable for what is not known of a location at the loop's head."""
    return var(f"{FRESH}{location.space}_{location.offset}_{location.size}", 8 * location.size)


def _weaker(location: Location, old: Invariant | None, block_count: Term) -> Invariant:
    """What may still hold of a location whose invariant failed: the counter words in it, or
    nothing."""
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


def _parts(want: Term, have: Term) -> Iterator[tuple[Term, Term]]:
    """The pieces of two equally wide terms that must agree: all but the unknown ones."""
    position = want.width
    for part in _pieces(want):
        position -= part.width
        whole = part.args[0] if part.op == "extract" else part
        if not (whole.op == "var" and whole.name.startswith(FRESH)):
            yield part, extract(have, position + part.width - 1, position)


def _pieces(term: Term) -> Iterator[Term]:
    """What a term is put together from, the most significant first."""
    match term.op:
        case "concat":
            for arg in term.args:
                yield from _pieces(arg)
        case "zero_extend":
            yield const(0, term.amount)
            yield from _pieces(term.args[0])
        case _:
            yield term


def _claim(want: Term, have: Term) -> Term:
    """That a location has the value it should; TRUE where linear arithmetic shows it."""
    return conjunction(
        equal(linear(part).term(), linear(other).term()) for part, other in _parts(want, have)
    )


def _agreement(
    wanted: Machine, path: Path, replacement: Mapping[Term, Term]
) -> dict[Location, Term]:
    """For each location at the end of a path, that it has the value it has in `wanted` under
    the replacement."""
    pairs = [
        (location, read(wanted, location), path.machine.converter.term(value))
        for location, value in _locations(path.machine)
    ]
    expected = substitute([want for _, want, _ in pairs], replacement)
    return {
        location: _claim(want, have)
        for (location, _, have), want in zip(pairs, expected, strict=True)
    }


def close_loop(
    engine: Engine,
    flow: ControlFlow,
    entry: Machine,
    names: Variables,
    contract: tuple[Term, ...],
) -> tuple[Exploration, Loop | None, tuple[Obligation, ...]]:
    """All paths of the function, cut at the head of the block loop, and the obligations of the
    induction. Without a loop that depends on `nblocks`, all paths from the entry.

    Raises Unsupported.
    """
    guessed = guess(engine, flow, entry.copy(), names.nblocks, contract)
    if guessed is None:
        return explore(engine, flow, entry, (), contract), None, ()
    head = guessed.loop.head
    arriving = explore(engine, flow, entry, (head,), contract)
    arrivals = [path for path in arriving.paths if path.end == "cut"]
    if not arrivals:
        raise Unsupported(head, "the block loop is never reached")
    invariants = {invariant.location: invariant for invariant in _Templates(guessed, names)}
    definition = equal(names.block_count, add(names.count, names.counter_index))
    bound = unsigned_less_equal if guessed.tested_at_head else unsigned_less
    start = _at_head(arrivals[0].machine, head, invariants)
    body: Exploration | None = None
    for _ in range(_MAX_REFINEMENTS):
        assumptions = (bound(names.index, names.nblocks), definition, *contract)
        if body is None:
            body = explore(engine, flow, start.copy(), (head,), assumptions)
        loop = Loop(head, guessed.loop, tuple(invariants.values()), assumptions, body, start)
        bounded = _bound_obligations(loop, names, bound, contract)
        if not all(_holds(obligation) for obligation in bounded):
            if bound is unsigned_less_equal:
                raise Unsupported(head, "no bound on the number of passes through the loop")
            bound = unsigned_less_equal
            if body.excluded:
                # What the stronger bound excluded, the weaker one may not.
                body = None
            continue
        failed, kept = _preserved(loop, names, arrivals, contract)
        if not failed:
            return arriving, loop, (*bounded, *kept)
        for location in failed:
            old = invariants.get(location)
            invariants[location] = _weaker(location, old, names.block_count)
        start, body = _at_head(arrivals[0].machine, head, invariants), None
    raise Unsupported(head, "no invariant of the block loop was found")


def _at_head(arrival: Machine, head: int, invariants: Mapping[Location, Invariant]) -> Machine:
    """The generic state at the loop's head: an arrival's, with the invariants put in."""
    start = arrival.copy()
    start.pc = head
    start.guards, start.branches, start.slow_operands = [], [], []
    start.accesses, start.register_writes, start.steps = [], [], []
    start.memory.forget("dst")
    for invariant in invariants.values():
        _write(start, invariant.location, invariant.value)
    return start


def _holds(obligation: Obligation) -> bool:
    decision = valid(obligation.assumptions, obligation.formula)
    return decision.answer is Answer.UNSAT


def _bound_obligations(
    loop: Loop,
    names: Variables,
    bound: Callable[[Term, Term], Term],
    contract: tuple[Term, ...],
) -> list[Obligation]:
    """That the bound on `index` holds at the first arrival and is preserved by each pass."""
    zero, one = (const(value, names.pointer_bits) for value in (0, 1))
    found = [
        Obligation(
            "induction/bound/base",
            "at the first arrival at the block loop, index 0 is within bounds",
            contract,
            bound(zero, names.nblocks),
            (loop.head,),
        )
    ]
    for number, path in enumerate(loop.arrivals):
        found.append(
            Obligation(
                f"induction/bound/step{number}",
                "after a pass through the block loop the next index is within bounds",
                (*loop.assumptions, *path.guards),
                bound(add(names.index, one), names.nblocks),
                (loop.head,),
            )
        )
    return found


def _preserved(
    loop: Loop, names: Variables, arrivals: list[Path], contract: tuple[Term, ...]
) -> tuple[list[Location], list[Obligation]]:
    """The locations whose invariant fails, and the obligations of those that hold."""
    one = const(1, names.pointer_bits)
    following = {
        names.index: add(names.index, one),
        names.block_count: add(names.block_count, const(1, names.block_count.width)),
    }
    beginning = {
        names.index: const(0, names.pointer_bits),
        names.block_count: names.count,
    }
    cases = [("base", path, contract, beginning) for path in arrivals]
    cases += [("step", path, loop.assumptions, following) for path in loop.arrivals]
    failed: list[Location] = []
    obligations: list[Obligation] = []
    for number, (kind, path, assumptions, replacement) in enumerate(cases):
        claims = _agreement(loop.start, path, replacement)
        obligation = Obligation(
            f"induction/{kind}{number}",
            f"what holds at the head of the block loop holds {_WHEN[kind]} "
            f"({len(claims)} locations)",
            (*assumptions, *path.guards),
            conjunction(claims.values()),
            (loop.head,),
        )
        if not _holds(obligation):
            failed += [
                location
                for location, claim in claims.items()
                if not _holds(replace(obligation, formula=claim))
            ]
        obligations.append(obligation)
    return failed, obligations


_WHEN = {
    "base": "at the first arrival",
    "step": "again after a pass through the body",
}
