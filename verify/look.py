"""Look at one place of real executions, to see a property broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verify.counterexample import Look, Observation
from verify.witness import (
    Breach,
    Inputs,
    breaches,
    confirm_access,
    confirm_register_write,
    confirm_residue,
    confirm_stack_write,
    execute,
    other_key,
)

if TYPE_CHECKING:
    from verify.target import Target


def look(
    target: Target, observation: Observation, inputs: Inputs, others: Sequence[Inputs] = ()
) -> tuple[Breach, ...]:
    """What a call shows there.

    `others` are the calls that it is compared with: one at `Look.RETURN`, where without any the
    same call with another key serves. Raises QemuError when the bytes could not be executed.
    """
    at, instruction = observation, observation.instruction
    found: Breach | None = None
    match at.look:
        case Look.RETURN:
            return returns(target, [inputs], others)[0]
        case Look.STACK_WRITE:
            assert instruction is not None
            found = confirm_stack_write(
                target, inputs, instruction, at.offset, at.size, others=others
            )
        case Look.REGISTER_WRITE:
            assert instruction is not None
            found = confirm_register_write(target, inputs, instruction, at.register)
        case Look.ACCESS:
            found = confirm_access(target, inputs, at.region, at.offset)
        case Look.REGISTER:
            found = confirm_residue(target, inputs, others, at.register)
        case Look.DEPENDENCE:
            from verify.observe import confirm_dependence

            assert instruction is not None
            found = confirm_dependence(target, [inputs, *others], instruction)
    return (found,) if found is not None else ()


def returns(
    target: Target, calls: Sequence[Inputs], others: Sequence[Inputs] = ()
) -> list[tuple[Breach, ...]]:
    """What each of the calls shows at its end, compared with the other of the same number, or
    with the same call with another key."""
    twins = others or [other_key(one) for one in calls]
    done = execute(target, [*calls, *twins])
    ended = zip(done[: len(calls)], done[len(calls) :], strict=True)
    return [breaches(one, twin) for one, twin in ended]
