"""Search for what steers a compiled getrandom and must not.

Two calls are executed under QEMU that meet the same, but for secrets. That they part somewhere, or
access different addresses, or multiply or divide something else, follows from these: all else is
the same, and up to there both have done the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.counterexample import Look, Observation
from verify.getrandom.claims import Claim
from verify.getrandom.execution.pairs import executed_sides, sides_of
from verify.getrandom.execution.refute import PATIENT_SECONDS, SECONDS
from verify.getrandom.execution.seen import Seen
from verify.history.model import Harm
from verify.history.tracing import traced
from verify.history.watching import watch
from verify.lift.machine import Unsupported
from verify.lift.select import engine_for
from verify.observe import BRANCH, decisive_terms, held
from verify.terms import evaluate, var, variables
from verify.witness import registers as abi

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.getrandom.execution.pairs import Pair
    from verify.history import Done, Program
    from verify.history.watching import Visit
    from verify.terms import Term


def steered(program: Program, pairs: Sequence[Pair]) -> Iterator[Seen]:
    """Where the instructions that pairs of calls execute, ChaCha20's among them, are not the same.
    Raises QemuError where nothing can be executed."""
    # What is logged of a call that does not end has no end either.
    ending = {
        side: done for side, done in executed_sides(program, pairs).items() if not _endless(done)
    }
    pairs = [pair for pair in pairs if ending.keys() >= {*pair.sides}]
    sides = sides_of(pairs)
    histories, seeds = [(step,) for step, _ in sides], [seed for _, seed in sides]
    found = dict(zip(sides, traced(program, histories, PATIENT_SECONDS, seeds), strict=True))
    for pair in pairs:
        one, other = (found[side] for side in pair.sides)
        done = one.done[0], other.done[0]
        if any(_endless(each) for each in done):
            continue
        at = _parting(one.addresses, other.addresses)
        if at is not None:
            behind = one.addresses[at - 1]
            ours, theirs = (_shown(each.addresses, at) for each in (one, other))
            text = f"behind {behind:#x} call 0 goes on at {ours}, call 1 at {theirs}"
            yield Seen(Claim.TIMING, text, pair, done, Observation(Look.DEPENDENCE, behind))


def _endless(done: Done) -> bool:
    """Whether it was stopped at a moment that the clock chose."""
    return any(breach.harm is Harm.ENDLESS for breach in done.breaches)


def _parting(one: Sequence[int], other: Sequence[int]) -> int | None:
    """The number of the first that differs, or that only one has."""
    if one == other:
        return None
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _shown(addresses: Sequence[int], at: int) -> str:
    return f"{addresses[at]:#x}" if at < len(addresses) else "its end"


def accessed(program: Program, pairs: Sequence[Pair]) -> Iterator[Seen]:
    """Where an instruction of pairs of calls, outside ChaCha20, accesses another address, or
    multiplies or divides something else. Raises QemuError where nothing can be executed."""
    reader = _Reader(program)
    visits = [
        watch(program, [(step,) for step, _ in sides], reader.watched, SECONDS, seeds)
        for sides in zip(*(pair.sides for pair in pairs), strict=True)
        for seeds in [[seed for _, seed in sides]]
    ]
    for pair, one, other in zip(pairs, *visits, strict=True):
        for ours, theirs in zip(one, other, strict=False):
            if ours.address != theirs.address:
                break
            text = reader.difference(ours, theirs)
            if text:
                done = executed_sides(program, [pair])
                first, second = (done[side] for side in pair.sides)
                place = Observation(Look.DEPENDENCE, ours.address)
                yield Seen(Claim.TIMING, text, pair, (first, second), place)
                break


class _Reader:
    """What the instructions of a program outside ChaCha20 access, multiply and divide, read from
    their semantics."""

    def __init__(self, program: Program) -> None:
        self._architecture = program.architecture
        self._segments = program.segments
        self._engine = engine_for(program.architecture, self._code)
        pointer = program.architecture.register(program.architecture.stack_pointer).storage
        size = self._engine.layout.registers[pointer][1]
        self._stack_pointer = var(f"init_{pointer}", 8 * size)
        self._terms = dict(self._decisive(program))

    @property
    def watched(self) -> frozenset[int]:
        """Their addresses, and those of branches back, of which each loop has one."""
        return frozenset(self._terms)

    def difference(self, one: Visit, other: Visit) -> str:
        """What differs between two visits of an instruction, on one line; empty if nothing does."""
        terms = self._terms[one.address]
        ours, theirs = (self._values(visit, terms) for visit in (one, other))
        for (what, _), mine, its in zip(terms, ours, theirs, strict=True):
            if mine != its:
                return (
                    f"the {what} of the instruction at {one.address:#x} is {mine:#x} in call 0,"
                    f" {its:#x} in call 1"
                )
        return ""

    def _values(self, visit: Visit, terms: Sequence[tuple[str, Term]]) -> list[int]:
        def register(name: str) -> int:
            return abi.read(self._architecture, visit.registers, name)

        every = [term for _, term in terms]
        known = held(self._architecture, self._engine, register, every)
        values = evaluate(every, known, 0)
        return [values[term] for term in every]

    def _decisive(self, program: Program) -> Iterator[tuple[int, list[tuple[str, Term]]]]:
        engine = self._engine
        for address in sorted({*program.instructions} - program.system_calls):
            try:
                terms = decisive_terms(self._architecture, engine, address)
                targets = engine.targets(engine.lift(address, 1))
            except Unsupported:
                continue
            kept = [(what, term) for what, term in terms if what != BRANCH and self._varies(term)]
            if kept or any(target <= address for target in targets):
                yield address, kept

    def _varies(self, term: Term) -> bool:
        """Whether something is in it besides the stack pointer."""
        return any(one != self._stack_pointer for one in variables([term]))

    def _code(self, address: int, size: int) -> bytes | None:
        for start, data in self._segments:
            if start <= address and address + size <= start + len(data):
                return data[address - start :][:size]
        return None
