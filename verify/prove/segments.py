"""From a target to its segments: everything that properties are stated on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from verify.lift.engine import Engine
from verify.lift.machine import Machine, Unsupported
from verify.lift.memory import Access
from verify.prove.cfg import ControlFlow, control_flow
from verify.prove.explore import Exploration, Path
from verify.prove.hints import refuse_hints
from verify.prove.induction import Hypothesis, Loop, close_loop
from verify.prove.obligation import Obligation
from verify.prove.setting import (
    UNDESCRIBED,
    Variables,
    described,
    entry_machine,
    undescribed,
)
from verify.target import Target
from verify.terms import Term, const


@dataclass(frozen=True)
class Segment:
    """One loop-free path: where it starts and ends, under which assumptions it is taken.

    `begin` is `entry` or `loop`, `end` is `loop`, `exit` or `never`. `done` is the number of blocks
    finished at its begin (the term `index`, or zero), `block_count` the counter of the block at
    hand.
    """

    begin: str
    end: str
    assumptions: tuple[Term, ...]
    path: Path
    done: Term
    block_count: Term

    @property
    def machine(self) -> Machine:
        """The state at the segment's end, with what was recorded on the way."""
        return self.path.machine

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Every load and store of the segment, in program order."""
        return tuple(self.path.machine.accesses)

    @property
    def name(self) -> str:
        """`entry to loop` and the like."""
        return f"{self.begin} to {self.end}"


@dataclass(frozen=True, eq=False)
class Segments:
    """The whole function, cut at the head of its block loop.

    `induction` are the obligations on which the cut rests; every property needs them.
    """

    target: Target
    engine: Engine
    names: Variables
    flow: ControlFlow
    contract: tuple[Term, ...]
    entry: Exploration
    loop: Loop | None
    induction: tuple[Obligation, ...]

    def __iter__(self) -> Iterator[Segment]:
        """The segments from the entry, then those from the loop's head."""
        zero = const(0, self.names.pointer_bits)
        for path in self.entry.paths:
            yield Segment(
                "entry",
                _END[path.end],
                (*self.contract, *path.guards),
                path,
                zero,
                self.names.count,
            )
        for path in self.loop.body.paths if self.loop else ():
            assert self.loop is not None
            yield Segment(
                "loop",
                _END[path.end],
                (*self.loop.assumptions, *path.guards),
                path,
                self.names.index,
                self.names.block_count,
            )

    @property
    def exits(self) -> tuple[Segment, ...]:
        """The segments that leave the function."""
        return tuple(segment for segment in self if segment.end == "exit")


_END = {"cut": "loop", "exit": "exit", "never": "never"}


def segments_of(target: Target, engine: Engine, hypothesis: Hypothesis | None = None) -> Segments:
    """Execute the target from cut point to cut point; raises Unsupported.

    A hypothesis of the induction that is given, say that of a similar function, is tried first.
    """
    names = Variables(target.architecture.bits)
    contract = names.contract(target.architecture.return_alignment)
    flow = control_flow(engine, target.function.address)
    refuse_hints(target.architecture.instruction_set, engine, flow)
    known = described(target.architecture, engine.layout)

    def closed(tried: Hypothesis | None) -> Segments:
        entry = entry_machine(target, engine, names)
        exploration, loop, obligations = close_loop(engine, flow, entry, names, contract, tried)
        found = Segments(target, engine, names, flow, contract, exploration, loop, obligations)
        for segment in found:
            at = undescribed(segment.machine, known)
            if at is not None:
                raise Unsupported(at, UNDESCRIBED)
        return found

    if hypothesis is not None:
        with suppress(Unsupported):
            return closed(hypothesis)
    return closed(None)
