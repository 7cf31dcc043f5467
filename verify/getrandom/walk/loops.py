"""Loops that move bytes, closed by induction.

At the head of such a loop each register is what it was at first plus a constant times the number of
the iteration, or anything; one iteration reads, copies or erases as many bytes as its positions go
on, so that all iterations together do that with one longer range. Found is this from one iteration,
and then it is shown from a generic one, with bounds on its number that are shown as well. A loop
that does anything else is executed as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from verify.getrandom.reasoning.dependence import dependences
from verify.getrandom.reasoning.questions import Facts
from verify.getrandom.walk.bounds import Equation, candidates
from verify.getrandom.walk.events import Moved
from verify.getrandom.walk.origins import COPIED, MOVED, is_called
from verify.getrandom.walk.paths import Path, Walker
from verify.getrandom.walk.ranges import all_before, merged
from verify.getrandom.walk.setting import memory_of
from verify.getrandom.walk.shadow import SHADOW
from verify.lift.machine import Machine, Unsupported
from verify.lift.memory import STACK
from verify.prove.cfg import NaturalLoop
from verify.terms import (
    Term,
    add,
    const,
    equal,
    linear,
    negate,
    substitute,
    var,
    variables,
)

_PLAIN = 64
"""A loop that never branches is executed this often before it is closed by induction."""
_ROUNDS = 8


class NotMoving(Exception):
    """The loop does something else than moving bytes."""


@dataclass(frozen=True)
class _Iteration:
    """The one way back to the head, and all ways out."""

    back: Path
    exits: tuple[Path, ...]


@dataclass(frozen=True)
class _Shape:
    """How registers go on: the difference from one iteration to the next by (offset, size) in bytes
    of the register file; None where it may be anything."""

    steps: dict[tuple[int, int], int | None]

    def anything(self, offset: int, size: int) -> bool | None:
        """Whether those bytes may be anything; None where only some of them."""
        free = {
            byte
            for (start, length), step in self.steps.items()
            if step is None
            for byte in range(start, start + length)
        }
        found = [byte in free for byte in range(offset, offset + size)]
        return all(found) if all(found) or not any(found) else None


@dataclass(frozen=True)
class Closed:
    """A loop that was closed by induction: its head, and what holds where an iteration goes back to
    it, the number of which is `number`, from 0."""

    head: int
    number: Term
    facts: Facts


class Loops:
    """Closes the innermost loops of one function; `closed` are those that were."""

    def __init__(self, walker: Walker) -> None:
        self._walker = walker
        self.closed: list[Closed] = []
        flow = walker.setting.flow
        heads = {loop.head for loop in flow.loops}
        self._inner = {
            loop.head: loop for loop in flow.loops if not heads & loop.blocks - {loop.head}
        }
        self._other: set[int] = set()

    @property
    def heads(self) -> frozenset[int]:
        """The heads of the innermost loops."""
        return frozenset(self._inner)

    def step(self, path: Path) -> list[Path]:
        """Everything that may come of the next block, or of the loop that begins there."""
        loop = self._inner.get(path.machine.pc)
        if loop is not None and loop.head not in self._other:
            try:
                return self._through(path, loop)
            except NotMoving:
                self._other.add(loop.head)
        return self._walker.step(path)

    def _through(self, path: Path, loop: NaturalLoop) -> list[Path]:
        """All paths behind the loop."""
        plain = path
        for _ in range(_PLAIN):
            backs, exits = self._iterate(plain, loop, checked=True)
            if len(backs) + len(exits) != 1:
                break
            if exits:
                return exits
            (plain,) = backs
        return self._closed(path, loop)

    def _iterate(
        self, path: Path, loop: NaturalLoop, *, checked: bool
    ) -> tuple[list[Path], list[Path]]:
        """The paths that come back to the head, and those that leave the loop."""
        backs, exits, pending = [], [], [path]
        while pending:
            for after in self._walker.step(pending.pop(), checked=checked):
                if not all(isinstance(one, Moved) for one in after.events[len(path.events) :]):
                    raise NotMoving
                if after.returned:
                    exits.append(after)
                elif after.machine.pc == loop.head:
                    backs.append(after)
                elif self._walker.owners.get(after.machine.pc) in loop.blocks:
                    pending.append(after)
                else:
                    exits.append(after)
        return backs, exits

    def _closed(self, path: Path, loop: NaturalLoop) -> list[Path]:
        backs, _ = self._iterate(path, loop, checked=False)
        if not backs:
            return self._iterate(path, loop, checked=True)[1]
        shape = _shape(path.machine, backs[0].machine)
        memory = memory_of(path.machine)
        width = self._walker.setting.bits
        number = memory.origins.fresh("iteration", width)
        for _ in range(_ROUNDS):
            start = replace(path, machine=_generic(path.machine, shape, number))
            found = self._one(start, loop, checked=False)
            if found is None:
                # The solver sees it of a generic iteration, and so of the first one.
                return self._iterate(path, loop, checked=True)[1]
            refined = _refined(path.machine, shape, number, found.back.machine)
            if refined is None:
                return self._exits(path, start, found, loop, number)
            shape = refined
        raise Unsupported(loop.head, "no way is found in which the loop's registers go on")

    def _one(self, start: Path, loop: NaturalLoop, *, checked: bool) -> _Iteration | None:
        """One iteration; None where no way leads back to the head."""
        backs, exits = self._iterate(start, loop, checked=checked)
        if not backs:
            return None
        if len(backs) != 1:
            raise Unsupported(loop.head, f"{len(backs)} ways through the loop")
        if not _same_stack(start.machine, backs[0].machine):
            raise Unsupported(loop.head, "the loop writes to the stack")
        return _Iteration(backs[0], tuple(exits))

    def _exits(
        self, path: Path, start: Path, found: _Iteration, loop: NaturalLoop, number: Term
    ) -> list[Path]:
        """The paths behind the loop, from a generic iteration on which the bounds hold."""
        fixed = _held(path)
        bounds = self._bounds(start, found, number, fixed)
        before = len(path.events)
        done = tuple(
            all_before(event, number, fixed) for event in merged(found.back.events[before:])
        )
        facts = (*path.facts, *bounds)
        generic = replace(start, facts=facts, events=(*path.events, *done))
        again = self._one(generic, loop, checked=True)
        if again is None or again.back.events[len(generic.events) :] != found.back.events[before:]:
            # The variables that stand for what is read are new ones, but not in events.
            raise Unsupported(loop.head, "the loop does not do the same twice")
        last = negate(equal(add(number, const(1, number.width)), const(0, number.width)))
        if not self._walker.questions.follows(again.back.facts, last):
            raise Unsupported(loop.head, "the iterations of the loop are not counted")
        self.closed.append(Closed(loop.head, number, again.back.facts))
        _note_sources(path.machine, start.machine, again.back.machine)
        # What the earlier iterations did to registers and stack is not on the way out.
        breaches = again.back.breaches
        return [
            replace(one, breaches=tuple(dict.fromkeys((*one.breaches, *breaches))))
            for one in again.exits
        ]

    def _bounds(
        self, start: Path, found: _Iteration, number: Term, fixed: frozenset[Term]
    ) -> tuple[Term, ...]:
        """Bounds on the number of the iteration: they hold for the first one, and then for the
        next. They are told by what is `fixed`, for anything else may be another in the next."""
        follows = self._walker.questions.follows
        known = len(start.facts)
        guards = {guard for path in (found.back, *found.exits) for guard in path.facts[known:]}
        zero, following = const(0, number.width), add(number, const(1, number.width))
        proposed = {
            bound: equation
            for bound, equation in candidates(guards, number)
            if variables([bound]) <= fixed | {number}
        }
        bounds = [
            one for one in proposed if follows(start.facts, substitute([one], {number: zero})[0])
        ]
        while True:
            facts = (*start.facts, *bounds, *found.back.facts[known:])
            kept = [
                one
                for one in bounds
                if self._counted(found.back.facts[known:], proposed[one], number)
                or follows(facts, substitute([one], {number: following})[0])
            ]
            if kept == bounds:
                return tuple(bounds)
            bounds = kept

    def _counted(self, guards: tuple[Term, ...], equation: Equation, number: Term) -> bool:
        """Whether the loop goes on only where the equation does not hold, and with each iteration
        comes one nearer to the one in which it does; whatever the rest of the equation is."""
        if abs(equation.factor) != 1 or negate(equation.guard) not in guards:
            return False
        rest = var("rest", number.width)
        here, bound = equation.of(rest, number)
        following = substitute([bound], {number: add(number, const(1, number.width))})
        return self._walker.questions.follows((bound, negate(here)), following[0])


def _held(path: Path) -> frozenset[Term]:
    """The variables in what registers and memory hold, and in what is known of them."""
    machine = path.machine
    cells = (machine.registers, *memory_of(machine).cells().values())
    terms = (machine.converter.term(value) for some in cells for *_, value in some)
    return variables([*terms, *path.facts])


def _shape(first: Machine, second: Machine) -> _Shape:
    """How the registers have gone on from one iteration to the next."""
    steps: dict[tuple[int, int], int | None] = {}
    for offset, size, value in list(second.registers):
        before = first.converter.term(first.registers.read(offset, size))
        after = second.converter.term(value)
        difference = linear(after).plus(linear(before), -1)
        steps[offset, size] = difference.constant if difference.is_constant else None
    return _Shape(steps)


def _generic(first: Machine, shape: _Shape, number: Term) -> Machine:
    """The machine at the head in the iteration of that number, which counts from 0."""
    machine = first.copy()
    fresh = memory_of(machine).origins.fresh
    for (offset, size), step in shape.steps.items():
        if step is None:
            value = fresh(MOVED, 8 * size)
        elif step:
            before = machine.converter.term(first.registers.read(offset, size))
            if before.width != number.width:
                value = fresh(MOVED, 8 * size)
            else:
                value = linear(before).plus(linear(number), step).term()
        else:
            continue
        machine.registers.write(offset, machine.converter.leaf(value))
    return machine


def _note_sources(first: Machine, generic: Machine, back: Machine) -> None:
    """Note what the variables for registers that may be anything depend on: on what was there at
    first, and on what an iteration leaves there, of which what it has copied went to the buffer."""
    memory = memory_of(back)
    for offset, size, value in list(generic.registers):
        unknown = generic.converter.term(value)
        if unknown.op == "var" and is_called(unknown, MOVED):
            before = dependences([first.converter.term(first.registers.read(offset, size))])
            after = dependences([back.converter.term(back.registers.read(offset, size))])
            after = memory.origins.settled(after, memory.copied, COPIED)
            memory.origins.stands_for(unknown, before | after)


def _refined(first: Machine, shape: _Shape, number: Term, back: Machine) -> _Shape | None:
    """None where the registers have gone on as the shape says; else the shape without what it says
    wrongly."""
    following = _generic(first, shape, add(number, const(1, number.width)))
    steps = dict(shape.steps)
    for offset, size, value in list(back.registers):
        free = shape.anything(offset, size)
        if free:
            continue
        expected = first.converter.term(following.registers.read(offset, size))
        if free is None or linear(back.converter.term(value)) != linear(expected):
            steps[offset, size] = None
    return None if steps == shape.steps else _Shape(steps)


def _same_stack(one: Machine, other: Machine) -> bool:
    """Whether the stack has the same contents."""
    ours, theirs = memory_of(one), memory_of(other)
    regions = {key for key in (*ours.cells(), *theirs.cells()) if key[0] in (STACK, SHADOW)}
    return ours.given_up == theirs.given_up and all(
        other.converter.term(value) is one.converter.term(ours.region(*key).read(offset, size))
        for key in regions
        for offset, size, value in list(theirs.region(*key))
    )
