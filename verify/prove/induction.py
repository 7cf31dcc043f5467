"""The block loop, closed by induction.

The loop's head is a cut point. What holds there after `index` blocks is guessed from one concrete
pass and then proved: at the first arrival (base), and again after one pass through the body from
the guessed state (step). A location whose guess fails becomes a fresh variable, so that nothing
is assumed of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from verify.decide import Answer, valid
from verify.lift.engine import Engine
from verify.lift.machine import Machine, Unsupported
from verify.prove.cfg import ControlFlow, NaturalLoop
from verify.prove.explore import Exploration, Path, explore
from verify.prove.invariants import (
    FRESH,
    Invariant,
    Location,
    Templates,
    guess,
    locations,
    read,
    weaker,
    write,
)
from verify.prove.obligation import Obligation
from verify.prove.setting import Variables
from verify.terms import (
    Term,
    add,
    conjunction,
    const,
    equal,
    extract,
    linear,
    substitute,
    unsigned_less,
    unsigned_less_equal,
)

_MAX_REFINEMENTS = 12


@dataclass(frozen=True)
class Hypothesis:
    """What is to be proved of a loop: its head, what holds there, and whether its exit is tested
    there, so that `index` gets as far as `nblocks`. Nothing is assumed of it."""

    head: int
    invariants: tuple[Invariant, ...]
    tested_at_head: bool


@dataclass(frozen=True)
class Loop:
    """The block loop: its head, what holds there, and every path through its body from there.

    `assumptions` hold at the head: the contract, the bound on `index`, and the definition of
    `block_count`.
    """

    hypothesis: Hypothesis
    flow: NaturalLoop
    assumptions: tuple[Term, ...]
    body: Exploration
    start: Machine

    @property
    def head(self) -> int:
        """The address of the cut point."""
        return self.hypothesis.head

    @property
    def invariants(self) -> tuple[Invariant, ...]:
        """What holds at the head."""
        return self.hypothesis.invariants

    @property
    def arrivals(self) -> tuple[Path, ...]:
        """The paths through the body that come back to the head."""
        return tuple(path for path in self.body.paths if path.end == "cut")


def _parts(want: Term, have: Term) -> Iterator[tuple[Term, Term]]:
    """The pieces of two equally wide terms that must agree: all but the unknown ones."""
    position = want.width
    for part in pieces(want):
        position -= part.width
        whole = part.args[0] if part.op == "extract" else part
        if not (whole.op == "var" and whole.name.startswith(FRESH)):
            yield part, extract(have, position + part.width - 1, position)


def pieces(term: Term) -> Iterator[Term]:
    """What a term is put together from, the most significant first."""
    match term.op:
        case "concat":
            for arg in term.args:
                yield from pieces(arg)
        case "zero_extend":
            yield const(0, term.amount)
            yield from pieces(term.args[0])
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
    """For each location of which `wanted` or the end of a path knows something, that it has there
    the value it has in `wanted` under the replacement."""
    known = dict.fromkeys(
        location for machine in (path.machine, wanted) for location, _ in locations(machine)
    )
    pairs = [(location, read(wanted, location), read(path.machine, location)) for location in known]
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
    hypothesis: Hypothesis | None = None,
) -> tuple[Exploration, Loop | None, tuple[Obligation, ...]]:
    """All paths of the function, cut at the head of the block loop, and the obligations of the
    induction. Without a loop that depends on `nblocks`, all paths from the entry.

    The hypothesis of the induction is guessed unless one is given. Raises Unsupported.
    """
    tried = hypothesis or _guessed(engine, flow, entry, names, contract)
    if tried is None:
        return explore(engine, flow, entry, (), contract), None, ()
    head = tried.head
    natural = next((loop for loop in flow.loops if loop.head == head), None)
    if natural is None:
        raise Unsupported(head, "no loop begins here")
    arriving = explore(engine, flow, entry, (head,), contract)
    arrivals = [path for path in arriving.paths if path.end == "cut"]
    if not arrivals:
        raise Unsupported(head, "the block loop is never reached")
    invariants = {invariant.location: invariant for invariant in tried.invariants}
    definition = equal(names.block_count, add(names.count, names.counter_index))
    tested_at_head = tried.tested_at_head
    start = _at_head(arrivals[0].machine, head, invariants)
    body: Exploration | None = None
    for _ in range(_MAX_REFINEMENTS):
        bound = unsigned_less_equal if tested_at_head else unsigned_less
        assumptions = (bound(names.index, names.nblocks), definition, *contract)
        if body is None:
            body = explore(engine, flow, start.copy(), (head,), assumptions)
        holding = Hypothesis(head, tuple(invariants.values()), tested_at_head)
        loop = Loop(holding, natural, assumptions, body, start)
        bounded = _bound_obligations(loop, names, bound, contract)
        if not all(_holds(obligation) for obligation in bounded):
            if tested_at_head:
                raise Unsupported(head, "no bound on the number of passes through the loop")
            tested_at_head = True
            if body.excluded:
                # What the stronger bound excluded, the weaker one may not.
                body = None
            continue
        failed, kept = _preserved(loop, names, arrivals, contract)
        if not failed:
            return arriving, loop, (*bounded, *kept)
        for location in failed:
            old = invariants.get(location)
            arrived = read(arrivals[0].machine, location)
            invariants[location] = weaker(location, old, arrived, names)
        start, body = _at_head(arrivals[0].machine, head, invariants), None
    raise Unsupported(head, "no invariant of the block loop was found")


def _guessed(
    engine: Engine,
    flow: ControlFlow,
    entry: Machine,
    names: Variables,
    contract: tuple[Term, ...],
) -> Hypothesis | None:
    """A hypothesis from one pass through the loop; None without a loop."""
    guessed = guess(engine, flow, entry.copy(), names.nblocks, contract)
    if guessed is None:
        return None
    invariants = tuple(Templates(guessed, names))
    return Hypothesis(guessed.loop.head, invariants, guessed.tested_at_head)


def _at_head(arrival: Machine, head: int, invariants: Mapping[Location, Invariant]) -> Machine:
    """The generic state at the loop's head: an arrival's, with the invariants put in."""
    start = arrival.copy()
    start.pc = head
    start.guards, start.branches, start.slow_operands = [], [], []
    start.accesses, start.register_writes, start.steps = [], [], []
    start.memory.forget("dst")
    for invariant in invariants.values():
        write(start, invariant.location, invariant.value)
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
