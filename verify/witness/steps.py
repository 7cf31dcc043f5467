"""Stop before or behind one instruction, to see what it alone did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.witness.execution import Execution, begin, run_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.target import Target
    from verify.witness.inputs import Inputs


@dataclass(frozen=True)
class Step:
    """One instruction executed: the states right before and right behind it."""

    before: Execution
    after: Execution


def step(executions: Sequence[Execution], address: int) -> list[Execution | None]:
    """Execute the one instruction at `address`, which is no branch, from where these have ended.

    None stands for an execution that did not get to the next instruction.
    """
    if not executions:
        return []
    behind = address + executions[0].target.instruction_size(address)
    return [one if one.trapped else None for one in run_on(executions, address, behind)]


def steps(
    target: Target, inputs: Sequence[Inputs], address: int, passes: int
) -> Iterator[list[Step]]:
    """Yield what happens at `address` the first time it is executed, the second time, and so on.

    Each list has a step for every one of the inputs with which the instruction is executed so
    often; at most `passes` lists come, none of them empty.
    """
    running = [begin(target, one) for one in inputs]
    entry = target.function.address
    for _ in range(passes):
        before = [one for one in run_on(running, entry, address) if one.trapped]
        done = [
            Step(one, after)
            for one, after in zip(before, step(before, address), strict=True)
            if after is not None
        ]
        if not done:
            return
        yield done
        running = [one.after for one in done]
        entry = address + target.instruction_size(address)


def first_visits(target: Target, inputs: Sequence[Inputs], address: int) -> list[Execution]:
    """The states right before the instruction at `address` is executed for the first time, of
    those calls in which it is."""
    begun = [begin(target, one) for one in inputs]
    return [one for one in run_on(begun, target.function.address, address) if one.trapped]


def stopped_before(
    target: Target, inputs: Inputs, address: int, passes: int = 1
) -> Execution | None:
    """The state right before the instruction at `address` is executed for the given time.

    None if it is executed less often.
    """
    if passes == 1:
        return next(iter(first_visits(target, [inputs], address)), None)
    found = list(steps(target, [inputs], address, passes))
    return found[-1][0].before if len(found) == passes else None


def stopped_after(
    target: Target, inputs: Inputs, address: int, passes: int = 1
) -> Execution | None:
    """The state right behind the instruction at `address`, which is no branch, executed for the
    given time.

    The instruction is executed by itself, from the state before it, so code that leads elsewhere
    to the next instruction does no harm. None if it is executed less often, or faults.
    """
    found = list(steps(target, [inputs], address, passes))
    return found[-1][0].after if len(found) == passes else None
