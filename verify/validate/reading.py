"""The harness's reading of one instruction: executed once on variables, evaluated on each state.

The instruction is run by the same engine that proofs use, in a machine in which every register is
a variable (`Registers.initial`) and no address belongs to a region, so that every load is a
variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from verify.lift.engine import FAULT, Block, Engine, Successor
from verify.lift.generic import Touch, touches, unknown_machine
from verify.lift.machine import UNDEFINED, Unsupported
from verify.qemu.machines import PROGRAM_COUNTER
from verify.terms import (
    Term,
    conjunction,
    const,
    extract,
    postorder,
    substitute,
    var,
    variables,
)
from verify.validate.registers import INITIAL, Registers

_COMPARISONS = frozenset({"=", "bvult", "bvule", "bvslt"})
_KINDS = ("jump", "call", FAULT)


@dataclass(frozen=True)
class Path:
    """One way through the instruction.

    `guard` is when it is taken, `registers` the registers that it may change (names of the ABI)
    with their values, `target` the address of the next instruction. `faults` says that it is the
    address of this one, at which it stops, its operand in memory not being aligned.
    """

    guard: Term
    registers: Mapping[str, Term]
    touches: tuple[Touch, ...]
    target: Term
    faults: bool = False

    @property
    def roots(self) -> tuple[Term, ...]:
        """Every term of the path."""
        touched = (term for touch in self.touches for term in (touch.address, touch.value))
        return (self.guard, self.target, *self.registers.values(), *touched)


@dataclass(frozen=True)
class Reading:
    """What one instruction does: its paths, of which exactly one is taken in each state."""

    address: int
    paths: tuple[Path, ...]
    variables: tuple[Term, ...]
    inputs: tuple[str, ...]
    """What decides what it does: the initial variables, and the registers that they stand for."""

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The numbers with which it compares what it reads to choose between several paths."""
        if len(self.paths) == 1:
            return ()
        compared = (
            part.args
            for part in postorder(path.guard for path in self.paths)
            if part.op in _COMPARISONS and all(one.op != "ite" for one in part.args)
        )
        values = {one.value for args in compared for one in args if one.value is not None}
        return tuple(sorted(values))

    @property
    def fixed(self) -> tuple[int, int] | None:
        """(address, size) of the first access if no register decides the address, else None."""
        touched = [touch for path in self.paths for touch in path.touches]
        if not touched or touched[0].address.value is None:
            return None
        return touched[0].address.value, touched[0].size


def read(engine: Engine, registers: Registers, block: Block) -> Reading:
    """Execute a block of one instruction on variables.

    Raises Unsupported where the engine has no meaning for it, or where it reads or writes
    something that QEMU does not show.
    """
    address = block.address
    if block.instructions != (address,):
        raise Unsupported(address, f"lifted as {len(block.instructions)} instructions")
    machine = unknown_machine(engine, registers.byte_order, address, registers.initial)
    successors = engine.run(block, machine)
    paths = tuple(_path(engine, registers, address, successor) for successor in successors)
    used = variables(term for path in paths for term in path.roots)
    loaded = {touch.value for path in paths for touch in path.touches if not touch.write}
    initial = tuple(sorted(used - loaded, key=lambda term: term.name))
    inputs = []
    for variable in initial:
        name = registers.name(variable)
        if name is None:
            raise Unsupported(address, f"reads {variable.name}, which QEMU does not show")
        inputs.append(name)
    return Reading(address, paths, initial, tuple(inputs))


def _path(engine: Engine, registers: Registers, address: int, successor: Successor) -> Path:
    machine = successor.machine
    if successor.kind not in _KINDS:
        raise Unsupported(address, f"ends in {successor.kind}")
    term = machine.converter.term
    written: dict[str, Term] = {}
    for write in machine.register_writes:
        touched = range(write.offset, write.offset + write.value.width // 8)
        storage, _, _ = engine.layout.enclosing(write.offset, len(touched))
        if storage == PROGRAM_COUNTER:
            # SLEIGH keeps the target of some branches there; it is compared as the target.
            continue
        if storage in registers.scratch:
            continue
        names = registers.at(touched)
        if not names:
            raise Unsupported(address, f"writes {storage}, which QEMU does not show")
        for name in names:
            register = registers.register(name)
            whole = term(machine.registers.read(*engine.layout.registers[register.storage]))
            value = extract(whole, *register.bits) if register.bits else whole
            if registers.shown(name):
                written[name] = value
            elif value is not var(f"{INITIAL}{name}", value.width):
                raise Unsupported(address, f"writes {name}, which QEMU does not show")
    guard = conjunction(term(guard) for guard in machine.guards)
    faults = successor.kind == FAULT
    return _settled(Path(guard, written, touches(machine), term(successor.target), faults))


def _settled(path: Path) -> Path:
    """The path with zero for whatever the manual leaves undefined."""
    free = {v: const(0, v.width) for v in variables(path.roots) if v.name.startswith(UNDEFINED)}
    if not free:
        return path
    values = substitute(path.registers.values(), free)
    return replace(path, registers=dict(zip(path.registers, values, strict=True)))
