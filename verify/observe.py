"""Look at one place of real executions, to see a property broken.

Where that takes the meaning of an instruction (is the branch taken, which address is accessed), it
is read from the instruction's own semantics, on the registers that the real bytes left.
"""

from __future__ import annotations

from collections.abc import Sequence

from verify.arch import Saved
from verify.lift.cells import Cells
from verify.lift.convert import Converter
from verify.lift.engine import Engine
from verify.lift.machine import Machine
from verify.lift.memory import RegionMemory
from verify.lift.select import engine_for
from verify.prove.setting import unknown_registers
from verify.target import Target
from verify.terms import Term, evaluate, var, variables
from verify.verdict import Look, Observation
from verify.witness import (
    Breach,
    Execution,
    Inputs,
    breaches,
    confirm_access,
    confirm_register_write,
    confirm_residue,
    confirm_stack_write,
    execute,
    first_visits,
    other_key,
)
from verify.witness.registers import observed


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


def confirm_dependence(target: Target, calls: Sequence[Inputs], instruction: int) -> Breach | None:
    """The breach of `timing` that a branch or access is whose condition or address differs
    between calls that differ in the key only. None when it is the same in all of them."""
    engine = engine_for(target.architecture, target.code)
    decisive = _decisive(target, engine, instruction)
    seen: dict[tuple[int, ...], Inputs] = {}
    for stopped in first_visits(target, calls, instruction):
        values = evaluate(decisive, _registers(engine, stopped, decisive), 0)
        seen.setdefault(tuple(values[term] for term in decisive), stopped.inputs)
        if len(seen) > 1:
            (one, first), (two, second) = list(seen.items())[:2]
            what = "branch" if decisive[0].width == 0 else "address"
            return Breach(
                "timing",
                f"{what} at {instruction:#x}",
                f"the {what} at {instruction:#x} depends on the key",
                "the same for every key",
                f"{_text(one)}, with another key {_text(two)}",
                first,
                instruction,
                other=second,
            )
    return None


def _text(values: tuple[int, ...]) -> str:
    return ", ".join(f"{value:#x}" for value in values)


def _decisive(target: Target, engine: Engine, instruction: int) -> list[Term]:
    """The branch condition of one instruction, or the addresses that it accesses, in terms of its
    input registers."""
    layout, converter = engine.layout, Converter()
    little = target.architecture.byte_order == "little"
    machine = Machine(
        Cells(layout.little, unknown_registers(layout, converter)),
        RegionMemory(little, {}, lambda *_: None, {}),
        converter,
        little,
        instruction,
        layout.constants,
    )
    after = engine.run(engine.lift(instruction, 1), machine)[0].machine
    guards = [after.converter.term(guard) for guard in after.guards]
    return guards or [access.address for access in after.accesses]


def _registers(engine: Engine, stopped: Execution, terms: Sequence[Term]) -> dict[Term, int]:
    needed = variables(terms)
    values: dict[Term, int] = {}
    for register in observed(stopped.target.architecture, *Saved):
        _, size = engine.layout.registers[register.storage]
        variable = var(f"init_{register.storage}", 8 * size)
        if variable in needed:
            low = register.bits[1] if register.bits else 0
            values[variable] = values.get(variable, 0) | stopped.register(register.name) << low
    return values
