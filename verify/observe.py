"""Whether what an instruction does depends on the key, seen in registers of real executions.

The registers come from executing the real bytes up to the instruction; what they mean for it (is
the branch taken, which address is accessed, what is multiplied or divided) is read from the
instruction's own semantics. How long it then takes is the machine's, and not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from verify.arch import Architecture, Saved
from verify.lift.cells import Cells
from verify.lift.convert import Converter
from verify.lift.engine import Engine
from verify.lift.machine import Machine
from verify.lift.memory import RegionMemory
from verify.lift.select import engine_for
from verify.prove.setting import unknown_registers
from verify.target import Target
from verify.terms import Term, evaluate, var, variables
from verify.witness import Breach, Inputs, first_visits
from verify.witness.registers import observed


@dataclass(frozen=True)
class Decisive:
    """What of an instruction may depend on the key: the addresses of the instructions that can
    follow a branch, or the registers that an address is computed from or that are multiplied or
    divided."""

    following: tuple[int, ...] = ()
    registers: tuple[str, ...] = ()


def confirm_dependence(target: Target, calls: Sequence[Inputs], instruction: int) -> Breach | None:
    """The breach of `timing` that a branch, an access, or a multiplication or division is whose
    condition, address or operand differs between calls that differ in the key only. None when it
    is the same in all of them."""
    architecture = target.architecture
    engine = engine_for(architecture, target.code)
    decisive = decisive_terms(architecture, engine, instruction)
    seen: dict[tuple[int, ...], Inputs] = {}
    for stopped in first_visits(target, calls, instruction):
        terms = [term for _, term in decisive]
        values = evaluate(terms, held(architecture, engine, stopped.register, terms), 0)
        seen.setdefault(tuple(values[term] for term in terms), stopped.inputs)
        if len(seen) > 1:
            (one, first), (two, second) = list(seen.items())[:2]
            compared = zip(decisive, one, two, strict=True)
            what = next(what for (what, _), a, b in compared if a != b)
            mine = [number for number, (kind, _) in enumerate(decisive) if kind == what]
            shown, other = (", ".join(f"{values[at]:#x}" for at in mine) for values in (one, two))
            return Breach(
                "timing",
                f"{what} at {instruction:#x}",
                f"the {what} at {instruction:#x} depends on the key",
                "the same for every key",
                f"{shown}, with another key {other}",
                first,
                instruction,
                other=second,
            )
    return None


def decisive_of(target: Target, instruction: int) -> Decisive:
    """What decides what a branch or an access does."""
    engine = engine_for(target.architecture, target.code)
    decisive = decisive_terms(target.architecture, engine, instruction)
    if any(what == BRANCH for what, _ in decisive):
        return Decisive(following=engine.targets(engine.lift(instruction, 1)))
    names = {variable.name for variable in variables(term for _, term in decisive)}
    return Decisive(
        registers=tuple(
            register.name
            for register in target.architecture.registers
            if f"init_{register.storage}" in names and register.bits is None
        )
    )


BRANCH, ADDRESS, OPERAND = "branch", "address", "operand"


def decisive_terms(
    architecture: Architecture, engine: Engine, instruction: int
) -> list[tuple[str, Term]]:
    """The branch condition of one instruction, or the addresses that it accesses and what it
    multiplies or divides, in terms of its input registers; with each which of them it is. Raises
    Unsupported."""
    layout, converter = engine.layout, Converter()
    little = architecture.byte_order == "little"
    machine = Machine(
        Cells(layout.little, unknown_registers(layout, converter)),
        RegionMemory(little, {}, lambda *_: None, {}),
        converter,
        little,
        instruction,
        layout.constants,
    )
    after = engine.run(engine.lift(instruction, 1), machine)[0].machine
    if after.guards:
        return [(BRANCH, after.converter.term(guard)) for guard in after.guards]
    addresses = [(ADDRESS, access.address) for access in after.accesses]
    return addresses + [(OPERAND, operand.value) for operand in after.slow_operands]


def held(
    architecture: Architecture,
    engine: Engine,
    register_of: Callable[[str], int],
    terms: Iterable[Term],
) -> dict[Term, int]:
    """The values of the input registers in terms, from those of the registers by the ABI's
    names."""
    needed = variables(terms)
    values: dict[Term, int] = {}
    for register in observed(architecture, *Saved):
        _, size = engine.layout.registers[register.storage]
        variable = var(f"init_{register.storage}", 8 * size)
        if variable in needed:
            low = register.bits[1] if register.bits else 0
            values[variable] = values.get(variable, 0) | register_of(register.name) << low
    return values
