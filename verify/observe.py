"""Whether what an instruction does depends on the key, seen in registers of real executions.

The registers come from executing the real bytes up to the instruction; what they mean for it (is
the branch taken, which address is accessed) is read from the instruction's own semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from verify.arch import Saved
from verify.lift.cells import Cells
from verify.lift.convert import Converter
from verify.lift.machine import Machine
from verify.lift.memory import RegionMemory
from verify.prove.segments import Segments
from verify.prove.setting import unknown_registers
from verify.terms import Term, evaluate, var, variables
from verify.witness import Breach, Execution, Inputs, stopped_before
from verify.witness.registers import observed


def confirm_key_dependence(
    segments: Segments, calls: Sequence[Inputs], instruction: int
) -> Breach | None:
    """The breach of `timing` that a branch or access is whose condition or address differs
    between calls that differ in the key only. None when it is the same in all of them."""
    target = segments.target
    decisive = _decisive(segments, instruction)
    seen: dict[tuple[int, ...], Inputs] = {}
    for inputs in calls:
        stopped = stopped_before(target, inputs, instruction)
        if stopped is None:
            continue
        values = evaluate(decisive, _registers(segments, stopped, decisive), 0)
        seen.setdefault(tuple(values[term] for term in decisive), inputs)
        if len(seen) > 1:
            (one, first), (two, _) = list(seen.items())[:2]
            what = "branch" if decisive[0].width == 0 else "address"
            return Breach(
                "timing",
                f"the {what} at {instruction:#x} depends on the key",
                "the same for every key",
                f"{_text(one)}, with another key {_text(two)}",
                first,
                instruction,
            )
    return None


def _text(values: tuple[int, ...]) -> str:
    return ", ".join(f"{value:#x}" for value in values)


def _decisive(segments: Segments, instruction: int) -> list[Term]:
    """The branch condition of one instruction, or the addresses that it accesses, in terms of its
    input registers."""
    layout, converter = segments.engine.layout, Converter()
    little = segments.target.architecture.byte_order == "little"
    machine = Machine(
        Cells(layout.little, unknown_registers(layout, converter)),
        RegionMemory(little, {}, lambda *_: None, {}),
        converter,
        little,
        instruction,
        layout.constants,
    )
    after = segments.engine.run(segments.engine.lift(instruction, 1), machine)[0].machine
    guards = [after.converter.term(guard) for guard in after.guards]
    return guards or [access.address for access in after.accesses]


def _registers(segments: Segments, stopped: Execution, terms: Sequence[Term]) -> dict[Term, int]:
    needed = variables(terms)
    values: dict[Term, int] = {}
    for register in observed(segments.target.architecture, *Saved):
        _, size = segments.engine.layout.registers[register.storage]
        variable = var(f"init_{register.storage}", 8 * size)
        if variable in needed:
            low = register.bits[1] if register.bits else 0
            values[variable] = values.get(variable, 0) | stopped.register(register.name) << low
    return values
