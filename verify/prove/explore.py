"""Loop-free symbolic execution from one program point to the next cut point.

Every path that starts ends in the result: at a cut point, by leaving the function, or as a path
that the assumptions exclude. Anything else raises Unsupported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from verify.decide import Answer, check
from verify.lift.engine import FAULT, Engine, Successor
from verify.lift.machine import Machine, Unsupported
from verify.prove.cfg import ControlFlow
from verify.terms import Term, const, negate

MAX_PATHS = 64
MAX_STEPS = 12_000
MAX_FORKS = 256
_ADDRESS_BITS = 64
_FEASIBILITY_BUDGET = 20_000
"""Z3 resource units for one branch. Those of real code take hundreds; a branch on what the rounds
have mixed takes any number, many times over."""


@dataclass(frozen=True)
class Path:
    """One path: `end` is `cut` when it stopped at a cut point, `exit` when it left the function
    through an indirect jump to `target`, `never` when it came back to a state in which it had
    been, so that it never ends. `guards` are the conditions taken, in order."""

    end: Literal["cut", "exit", "never"]
    machine: Machine
    guards: tuple[Term, ...]
    target: Term


@dataclass(frozen=True)
class Exploration:
    """All paths, and the guards of those that the assumptions exclude."""

    paths: tuple[Path, ...]
    excluded: tuple[tuple[Term, ...], ...]


class CallsFunction(Unsupported):
    """A call. `callee` is the address of the function, None where that is computed."""

    def __init__(self, address: int, callee: int | None) -> None:
        at = f" at {callee:#x}" if callee is not None else ""
        super().__init__(address, f"calls another function{at}")
        self.callee = callee


def feasible(assumptions: tuple[Term, ...], guards: tuple[Term, ...]) -> bool:
    """Whether the guards can hold under the assumptions; True where that is not known."""
    if negate(guards[-1]) in guards:
        return False
    return check((*assumptions, *guards), _FEASIBILITY_BUDGET).answer is not Answer.UNSAT


def guards_of(machine: Machine) -> tuple[Term, ...]:
    """The conditions taken on the machine's path so far."""
    return tuple(machine.converter.term(guard) for guard in machine.guards)


def step(engine: Engine, flow: ControlFlow, machine: Machine) -> list[Successor]:
    """Execute the block at the machine's pc; raises Unsupported for calls and traps."""
    block = flow.blocks.get(machine.pc)
    if block is None:
        raise Unsupported(machine.pc, "a path leads to code that direct branches do not reach")
    successors = engine.run(block, machine)
    for successor in successors:
        if successor.kind not in ("jump", "call", FAULT):
            raise Unsupported(successor.machine.instruction, successor.kind)
        target = successor.machine.converter.term(successor.target)
        if successor.kind == "call":
            raise CallsFunction(successor.machine.instruction, target.value)
        if target.value is not None:
            successor.machine.pc = target.value
    return successors


def explore(
    engine: Engine,
    flow: ControlFlow,
    start: Machine,
    cuts: Iterable[int],
    assumptions: tuple[Term, ...],
) -> Exploration:
    """Every path from `start` to the first cut point behind it or out of the function.

    A path is left out only when its guards contradict the assumptions.
    """
    stops = frozenset(cuts)
    heads = {loop.head for loop in flow.loops} - stops
    been: dict[int, frozenset[object]] = {id(start): frozenset()}
    paths: list[Path] = []
    excluded: list[tuple[Term, ...]] = []
    pending = [start]
    total = forks = 0
    while pending:
        machine = pending.pop()
        states = been.pop(id(machine))
        if machine.pc in heads:
            state = machine.fingerprint()
            if state in states:
                here = const(machine.pc, _ADDRESS_BITS)
                paths.append(Path("never", machine, guards_of(machine), here))
                continue
            states |= {state}
        before = len(machine.steps)
        successors = step(engine, flow, machine)
        total += max(len(s.machine.steps) for s in successors) - before
        forks += len(successors) > 1
        if total > MAX_STEPS or forks > MAX_FORKS or len(paths) + len(pending) > MAX_PATHS:
            raise Unsupported(
                machine.instruction,
                f"more than {MAX_PATHS} paths, {MAX_FORKS} branches or {MAX_STEPS} instructions "
                "without a cut point",
            )
        for successor in successors:
            after = successor.machine
            target = after.converter.term(successor.target)
            guards = guards_of(after)
            if len(successors) > 1 and not feasible(assumptions, guards):
                excluded.append(guards)
            elif successor.kind == FAULT:
                raise Unsupported(after.instruction, "faults where its operand is not aligned")
            elif target.value is None:
                paths.append(Path("exit", after, guards, target))
            elif after.pc in stops:
                paths.append(Path("cut", after, guards, target))
            else:
                been[id(after)] = states
                pending.append(after)
    return Exploration(tuple(paths), tuple(excluded))
