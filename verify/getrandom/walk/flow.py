"""The control flow of a getrandom, with that of the functions that it calls in its image."""

from __future__ import annotations

from dataclasses import dataclass

from verify.lift.cells import Cells
from verify.lift.convert import Converter
from verify.lift.engine import Block, Engine
from verify.lift.machine import Machine, Unsupported
from verify.lift.memory import RegionMemory
from verify.prove.cfg import ControlFlow, control_flow
from verify.prove.setting import unknown_registers
from verify.target import Target


@dataclass(frozen=True)
class Flow:
    """The control flow, and the entries of the functions that are executed where they are called.

    Behind a block that ends with a call of one of these comes that function as well as what stands
    behind the call; a function's return leads nowhere. So whatever is reached is there, but a loop
    does not contain what it calls.
    """

    control: ControlFlow
    calls: frozenset[int]


def flow_of(target: Target, engine: Engine, entry: int) -> Flow:
    """The flow from an entry on, ChaCha20 left out; raises Unsupported.

    Behind a system call the code goes on, whatever the lifter says.
    """
    system_call = target.architecture.system_calls.instruction
    called: dict[int, int] = {}

    def targets(block: Block) -> tuple[int, ...]:
        last, behind = block.instructions[-1], block.address + block.size
        if target.code(last, len(system_call)) == system_call:
            return (behind,)
        found = engine.targets(block)
        if behind in found and last not in called:
            callee = _callee(target, engine, block)
            if callee not in (None, target.function.address):
                called[last] = callee
        return (*found, called[last]) if last in called else found

    control = control_flow(engine, entry, targets)
    return Flow(control, frozenset(called.values()))


def _callee(target: Target, engine: Engine, block: Block) -> int | None:
    """The function in the image that a block ends with a call of, if it does and its address is in
    the block."""
    converter = Converter()
    little = target.architecture.byte_order == "little"
    machine = Machine(
        Cells(engine.layout.little, unknown_registers(engine.layout, converter)),
        RegionMemory(little, {}, target.code, {}),
        converter,
        little,
        block.address,
        engine.layout.constants,
    )
    try:
        ends = engine.run(block, machine)
    except Unsupported:
        # Execution says why, if it gets there.
        return None
    for end in ends:
        if end.kind == "call":
            return converter.term(end.target).value
    return None
