"""`termination`: the function returns, after a known number of instructions.

Loops with a constant number of passes are executed to their end. The block loop's ranking function
is nblocks - index, which each pass lowers by one and which never becomes negative (obligations of
the induction). No path comes back to a state in which it has been.
"""

from __future__ import annotations

from dataclasses import dataclass

from verify.properties.model import Property, Stated
from verify.prove.obligation import Obligation
from verify.prove.segments import Segment, Segments
from verify.terms import Term, conjunction, const, evaluate, negate, subtract, unsigned_less


@dataclass(frozen=True)
class Cost:
    """Instructions executed: at least and at most `first` + `each` * nblocks, as (low, high)."""

    first: tuple[int, int]
    each: tuple[int, int]

    @property
    def exact(self) -> bool:
        """Whether the number is the same on every path."""
        return self.first[0] == self.first[1] and self.each[0] == self.each[1]


def _steps(segments: list[Segment]) -> tuple[int, int]:
    lengths = [len(segment.machine.steps) for segment in segments] or [0]
    return min(lengths), max(lengths)


def cost(segments: Segments) -> Cost:
    """The number of instructions as a function of nblocks, over the paths that return."""
    every = list(segments)

    def between(begin: str, end: str) -> list[Segment]:
        return [s for s in every if s.begin == begin and s.end == end]

    if segments.loop is None:
        return Cost(_steps(between("entry", "exit")), (0, 0))
    enter, each = _steps(between("entry", "loop")), _steps(between("loop", "loop"))
    leave = between("loop", "exit")
    # A segment that leaves the loop with a block done takes the place of the last pass.
    with_block = any(_writes_block(segment) for segment in leave)
    low, high = _steps(leave)
    if with_block:
        return Cost((enter[0] + low - each[1], enter[1] + high - each[0]), each)
    return Cost((enter[0] + low, enter[1] + high), each)


def _writes_block(segment: Segment) -> bool:
    return any(
        access.kind == "write" and access.place is not None and access.place.region == "dst"
        for access in segment.accesses
    )


def cost_text(found: Cost) -> str:
    """The cost as one line."""
    if not found.exact:
        low, high = found.each
        return f"executes {low} to {high} instructions per block, depending on the path"
    first, each = found.first[0], found.each[0]
    return f"executes {each} * nblocks {'+' if first >= 0 else '-'} {abs(first)} instructions"


def zero_blocks(segments: Segments) -> str:
    """What nblocks = 0, outside the contract, would do."""
    names = segments.names
    values = {names.nblocks: 0, names.index: 0}
    head = segments.loop
    for guards in segments.entry.excluded:
        if all(_holds(guard, values) for guard in guards):
            return "nblocks = 0 leaves by a path of its own"
    for path in head.body.paths if head is not None else ():
        if all(_holds(guard, values) for guard in path.guards):
            if path.end == "exit" and not any(
                a.kind == "write" and a.place is not None and a.place.region == "dst"
                for a in path.machine.accesses
            ):
                return "nblocks = 0 returns without writing to dst"
            break
    return "nblocks = 0 writes at least one block, beyond dst"


def _holds(guard: Term, values: dict[Term, int]) -> bool:
    return bool(evaluate([guard], values, 0)[guard])


def state(segments: Segments) -> Stated:
    """That no path that never ends can be taken, and that the ranking function decreases."""
    found = [
        Obligation(
            f"termination/never{number}",
            f"{segment.name}: the path that comes back to a state it was in is never taken",
            segment.assumptions[: len(segment.assumptions) - len(segment.path.guards)],
            negate(conjunction(segment.path.guards)),
            (segment.machine.pc,),
        )
        for number, segment in enumerate(s for s in segments if s.end == "never")
    ]
    names = segments.names
    if segments.loop is not None:
        one = const(1, names.pointer_bits)
        rank = subtract(names.nblocks, names.index)
        for number, path in enumerate(segments.loop.arrivals):
            found.append(
                Obligation(
                    f"termination/rank{number}",
                    "a pass through the block loop lowers nblocks - index",
                    (*segments.loop.assumptions, *path.guards),
                    unsigned_less(subtract(rank, one), rank),
                    (segments.loop.head,),
                )
            )
    findings = (cost_text(cost(segments)), zero_blocks(segments))
    none = () if segments.exits else ("no path of the function returns",)
    covered = found or [
        Obligation(
            "termination/no-loop",
            "no loop depends on nblocks: every path was executed to its end",
            segments.contract,
            conjunction(()),
        )
    ]
    return Stated(tuple(covered), none, findings)


TERMINATION = Property("termination", "returns, after a known number of instructions", state)
