"""What the properties are decided from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from specs.getrandom_contract import ARGUMENTS
from verify.getrandom.claims import THIRD, Claim, Difference
from verify.getrandom.reasoning.dependence import dependences
from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.attempts import Attempts, Part
from verify.getrandom.walk.events import Event, Field
from verify.getrandom.walk.loops import Closed
from verify.getrandom.walk.mapped import mapped
from verify.getrandom.walk.origins import (
    BATCH,
    BELOW,
    COPIED,
    DESTROYED,
    DISCARDED,
    LEFT,
    Origins,
    is_called,
)
from verify.getrandom.walk.paths import Path, Steering, Walker
from verify.getrandom.walk.setting import Setting, memory_of
from verify.lift.machine import UNDEFINED
from verify.prove.secrets import independent
from verify.terms import Term, variables

_READ = (
    *("page", Field.GENERATION, Field.FIRST_WORD, Field.SECOND_WORD, Field.IN_USE),
    *("result", "iteration"),
)
"""What variables are called that stand for what may steer: what was read of the data page and of
the state's scalars, results of system calls, and the number of an iteration."""


@dataclass(frozen=True)
class Walk:
    """All paths of a getrandom, and what steers on them. The first part is from the entry on, each
    other from a second attempt on."""

    setting: Setting
    questions: Questions
    parts: tuple[Part, ...]
    steering: tuple[Steering, ...]
    closed: tuple[Closed, ...]

    @cached_property
    def origins(self) -> Origins:
        """Where the variables come from."""
        return memory_of(self.parts[0].start.machine).origins

    def paths(self) -> Iterator[tuple[Path, tuple[Event, ...]]]:
        """Every path of every part, with the events of that part of it."""
        for part in self.parts:
            for path in (*part.returned, *part.back):
                yield path, path.events[len(part.start.events) :]

    @cached_property
    def _public(self) -> frozenset[Term]:
        machine = self.parts[0].start.machine
        pos = variables([machine.converter.term(memory_of(machine).pos())])
        names = (*ARGUMENTS, "sp", "ra")
        known = (self.setting.argument(name) for name in names)
        return pos.union(known, {mapped(self.setting.bits), self.setting.data})

    def steers(self, variable: Term) -> bool:
        """Whether branches and addresses may depend on what a variable stands for."""
        return variable in self._public or any(is_called(variable, what) for what in _READ)

    def reached(self, variable: Term) -> frozenset[Term]:
        """All that a variable may depend on; the variable itself where nothing is known of it."""
        held = self.origins.sources.get(variable)
        if held is None:
            return frozenset({variable})
        # Many have the same sources: all registers behind a call.
        if held not in self._reached:
            self._reached[held] = self.origins.reached(held)
        return self._reached[held]

    @cached_property
    def _reached(self) -> dict[frozenset[Term], frozenset[Term]]:
        return {}

    def unsteering(self, value: Term) -> Term | None:
        """A variable that a value may depend on and that must not steer; or None."""
        return self._dependence(value, self._unsteering)

    def secret(self, value: Term, copied: frozenset[Term]) -> Term | None:
        """A variable that a value may depend on and that is a secret, or of which nothing is known,
        on a path that has written the bytes `copied` of the batch to the buffer; or None."""
        return self._dependence(value, lambda one: _first(self._guarded_in(one) - copied))

    def of_batch(self, value: Term) -> Term | None:
        """A variable that a value may depend on and that is a byte of the batch, be it given out or
        not, or of which nothing is known; or None."""
        given = {COPIED, DISCARDED}
        return self._dependence(
            value, lambda one: _first(self._guarded_in(one) | (self.reached(one) & given))
        )

    def _dependence(self, value: Term, wrong: Callable[[Term], Term | None]) -> Term | None:
        """What is wrong with one of the variables in a value, unless the value is shown to be the
        same whatever those hold with which something is."""
        found = {one: what for one in _sorted(dependences([value])) if (what := wrong(one))}
        if not found or self.questions.follows((), independent(value, found)):
            return None
        return next(iter(found.values()))

    def _unsteering(self, variable: Term) -> Term | None:
        for one in (variable, *_sorted(self.reached(variable))):
            called = is_called(one, DESTROYED) or is_called(one, BELOW)
            if not self.steers(one) and (called or one not in self.origins.sources):
                return one
        return None

    def _guarded_in(self, variable: Term) -> frozenset[Term]:
        """Of what a variable may depend on, the bytes of the batch, and that of which nothing is
        known."""
        known, reached = self._guarded, self.reached(variable)
        if reached not in known:
            known[reached] = frozenset(
                one
                for one in reached
                if not (
                    self.steers(one)
                    or one in self.origins.sources
                    or one in (COPIED, DISCARDED, LEFT)
                    or one.name.startswith(_CALLERS)
                )
            )
        return known[reached]

    @cached_property
    def _guarded(self) -> dict[frozenset[Term], frozenset[Term]]:
        return {}

    def unfinished(self, claim: Claim) -> Iterator[Difference]:
        """Where paths go on of which no more is known: those that come back to try a third time."""
        for part in self.parts[1:]:
            for path in part.back:
                yield self.differs_at_end(claim, path, THIRD)

    def choices(self, claim: Claim) -> Iterator[Difference]:
        """Where what is computed may depend on a byte of the batch without being a term of it."""
        for one in self.steering:
            found = self.of_batch(one.value) if one.chooses else None
            if found is not None:
                yield self.differs(claim, one.at, f"{one.what} depends on {described(found)}")

    def differs(self, claim: Claim, at: int, reason: str) -> Difference:
        """That a property is not shown, for a reason at an address."""
        return Difference(frozenset({claim}), f"{at - self.setting.base:#x}: {reason}")

    def differs_at_end(
        self, claims: Claim | frozenset[Claim], path: Path, reason: str
    ) -> Difference:
        """That a property, or several, is not shown on a path."""
        claims = frozenset({claims}) if isinstance(claims, Claim) else claims
        end = path.machine.instruction - self.setting.base
        return Difference(claims, f"on a path that ends at {end:#x}: {reason}")


_CALLERS = ("init_", "stack[", "above flags", UNDEFINED)
"""Prefixes of the variables for what the caller had in registers and on the stack, and for what an
instruction leaves undefined."""


def walk_of(walker: Walker, attempts: Attempts, parts: tuple[Part, ...]) -> Walk:
    """What the properties are decided from once all parts are executed."""
    closed = tuple(attempts.closed)
    return Walk(walker.setting, walker.questions, parts, tuple(walker.steering), closed)


def described(variable: Term) -> str:
    """What a variable stands for, in words."""
    if is_called(variable, BATCH) or variable in (COPIED, DISCARDED):
        return "bytes of the batch"
    if is_called(variable, DESTROYED) or is_called(variable, BELOW) or variable is LEFT:
        return "what a call left"
    if variable.name.startswith("init_"):
        return f"what {variable.name.removeprefix('init_')} held at entry"
    return variable.name


def _first(found: Iterable[Term]) -> Term | None:
    return next(iter(_sorted(found)), None)


def _sorted(found: Iterable[Term]) -> list[Term]:
    return sorted(found, key=lambda one: one.name)
