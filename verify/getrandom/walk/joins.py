"""Ways through code that moves the same bytes, joined into one.

Compiled copies move words first and then what is left over, in more and more ways. Where control
comes together behind such code, and each way has moved the same range, one path goes on for all of
them: what is not the same on each of them may be anything there, so that whatever comes of one of
them comes of the joined one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat

import networkx

from verify.getrandom.reasoning.questions import Facts
from verify.getrandom.walk.alike import anything_else, memory_alike, registers_of
from verify.getrandom.walk.events import Copy, Event, Moved
from verify.getrandom.walk.loops import Loops, NotMoving
from verify.getrandom.walk.onedata import as_one, the_only
from verify.getrandom.walk.paths import Path, Walker
from verify.prove.cfg import ControlFlow
from verify.terms import Linear, Term, equal, evaluate, linear

_END = -1
_MOST_PLACES = 4
"""At so many places, one behind the other, ways are tried to be joined."""
_MOST_FAILURES = 3
"""After so many failures nothing more is tried where ways part."""


class Joins:
    """Executes the code of one setting, and joins paths where that is possible; `loops` closes its
    loops."""

    def __init__(self, walker: Walker) -> None:
        self._questions = walker.questions
        self._width = walker.setting.bits
        self.loops = Loops(walker)
        self._behind = _meetings(walker.setting.flow)
        self._forks = {
            block
            for block, successors in walker.setting.flow.successors.items()
            if len(successors) > 1 and block in self._behind
        }
        self._most: dict[int, int] = {}
        self._failures: Counter[int] = Counter()
        self._never = {loop.head for loop in walker.setting.flow.loops} - self.loops.heads

    def step(self, path: Path) -> list[Path]:
        """Everything that may come of the next block, or of the code up to where its ways join."""
        fork = path.machine.pc
        if fork in self._forks:
            try:
                return self._through(path)
            except NotMoving:
                self._forks.discard(fork)
        return self.loops.step(path)

    def _through(self, path: Path) -> list[Path]:
        """Everything that comes to where the ways meet, or to a place behind that if they can be
        joined there. Raises NotMoving."""
        fork = path.machine.pc
        met = [self._to(path, [path], self._behind[fork])]
        if len(met[0]) < 2:
            return met[0]
        while len(met) < self._most.get(fork, _MOST_PLACES):
            end = self._behind.get(met[-1][0].machine.pc)
            try:
                met.append(self._to(path, met[-1], _END if end is None else end))
            except NotMoving:
                break
        for number in range(len(met), 0, -1):
            joined = self._joined(path, met[number - 1])
            if joined is not None:
                self._most[fork] = number
                return [joined]
        self._failures[fork] += 1
        if self._failures[fork] == _MOST_FAILURES:
            self._forks.discard(fork)
        return met[0]

    def _to(self, start: Path, paths: Iterable[Path], end: int) -> list[Path]:
        """What comes of paths up to where they meet; raises NotMoving if they have done more than
        moving since the start."""
        found, pending = [], list(paths)
        while pending:
            path = pending.pop()
            for after in self.loops.step(path):
                new = after.events[len(start.events) :]
                if after.returned or not all(isinstance(one, Moved) for one in new):
                    raise NotMoving
                if len(after.events) > len(path.events):
                    # What is known of it now is known on all paths that come of this one.
                    self._ranges(after, new)
                if after.machine.pc == end:
                    found.append(after)
                elif after.machine.pc in self._never:
                    raise NotMoving
                else:
                    pending.append(after)
        return found

    def _joined(self, start: Path, paths: Sequence[Path]) -> Path | None:
        """One path in place of some that come from one; None where they are not seen to have moved
        the same."""
        first = paths[0]
        if any(memory_alike(path) != memory_alike(first) for path in paths):
            return None
        moved = [self._ranges(path, path.events[len(start.events) :]) for path in paths]
        if not any(moved):
            return the_only(as_one(paths))
        facts = [path.facts for path in paths]
        same = _same_registers(paths, self._width)
        wholes = []
        for kind in dict.fromkeys(type(one) for each in moved for one in each):
            some = [[one for one in each if type(one) is kind] for each in moved]
            whole = self._whole(facts, some, same)
            if whole is None:
                return None
            wholes.append(whole)
        return replace(
            first,
            machine=anything_else(paths),
            facts=tuple(one for one in first.facts if all(one in others for others in facts)),
            events=(*start.events, *wholes),
            breaches=tuple(dict.fromkeys(one for path in paths for one in path.breaches)),
            blocks=max(path.blocks for path in paths),
        )

    def _ranges(self, path: Path, events: Iterable[Event]) -> list[Moved]:
        """What was moved, with ranges of one kind as one where that is shown."""
        found: dict[type[Moved], list[Moved]] = {}
        for event in events:
            assert isinstance(event, Moved)
            some = found.setdefault(type(event), [])
            if some and self._goes_on(path.facts, some[-1], event):
                some[-1] = replace(some[-1], size=some[-1].size.plus(event.size))
            else:
                some.append(event)
        return [event for some in found.values() for event in some]

    def _goes_on(self, facts: Facts, first: Moved, second: Moved) -> bool:
        """Whether one range is shown to begin where another of its kind ends."""
        pairs = [(first.start.plus(first.size), second.start)]
        if isinstance(first, Copy):
            assert isinstance(second, Copy)
            pairs.append((first.to.plus(first.size), second.to))
        return first.epoch == second.epoch and all(self._equal(facts, *pair) for pair in pairs)

    def _equal(self, facts: Facts, one: Linear, other: Linear) -> bool:
        return one == other or self._questions.follows(facts, equal(one.term(), other.term()))

    def _whole(
        self, facts: Sequence[Facts], moved: Sequence[Sequence[Moved]], same: Sequence[Linear]
    ) -> Moved | None:
        """The range of one kind that all paths have moved, told by what is the same on all of them;
        None where none is found."""
        found = [one for each in moved for one in each]
        first = found[0]
        if any(len(each) > 1 for each in moved) or any(
            not _begins_alike(first, one) for one in found
        ):
            return None
        nothing = Linear(first.size.width, 0)
        sizes = [each[0].size if each else nothing for each in moved]
        if all(size == first.size for size in sizes):
            return first
        examples = [self._questions.example(one) for one in facts]
        for size in same:
            if all(map(_may_be, examples, sizes, repeat(size))) and all(
                self._equal(one, other, size) for one, other in zip(facts, sizes, strict=True)
            ):
                return replace(first, size=size)
        return None


def _begins_alike(one: Moved, other: Moved) -> bool:
    if isinstance(one, Copy) and isinstance(other, Copy) and one.to != other.to:
        return False
    return (one.epoch, one.start) == (other.epoch, other.start)


def _may_be(example: Mapping[Term, int] | None, one: Linear, other: Linear) -> bool:
    """Whether two terms are equal in an example."""
    if example is None:
        return True
    ours, theirs = one.term(), other.term()
    values = evaluate([ours, theirs], example, 0)
    return values[ours] == values[theirs]


def _same_registers(paths: Sequence[Path], width: int) -> list[Linear]:
    """What registers hold of that width that hold the same on all paths."""
    first, *others = map(registers_of, paths)
    return list(
        dict.fromkeys(
            linear(term)
            for place, term in first.items()
            if term.width == width and all(other.get(place) is term for other in others)
        )
    )


def _meetings(flow: ControlFlow) -> dict[int, int]:
    """Where all ways from a block meet, by its address; without those that meet nowhere."""
    graph = networkx.DiGraph()
    for block, successors in flow.successors.items():
        graph.add_edges_from((after, block) for after in successors or (_END,))
    found = networkx.immediate_dominators(graph, _END)
    return {block: end for block, end in found.items() if end not in (_END, None)}
