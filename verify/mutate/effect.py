"""What straight-line code does to any state of registers and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from angr import claripy

from verify.arch import Architecture
from verify.lift.engine import Block, Engine, Successor
from verify.lift.generic import Touch, touches, unknown_machine
from verify.lift.machine import Unsupported
from verify.terms import Term, conjunction, extract, var, variables

INITIAL = "init_"
"""Prefix of the variables for what the lifter's registers hold at the beginning of the block."""


def _initial(name: str, width: int) -> Any:
    return claripy.BVS(f"{INITIAL}{name}", width, explicit_name=True)


@dataclass(frozen=True)
class Way:
    """One way through the code: when it is taken, where it leads, the registers at its end (by the
    ABI's names), its accesses in order, the offsets of the bytes of storage that it writes, whether
    it multiplies or divides, and whether it leads into a function that is to come back. `read` are
    the variables that something of it depends on: a register that keeps its value does not
    count."""

    guard: Term
    target: Term
    registers: Mapping[str, Term]
    touches: tuple[Touch, ...]
    written: frozenset[int]
    slow: bool
    read: frozenset[Term]
    call: bool = False


def ways(architecture: Architecture, engine: Engine, blocks: Sequence[Block]) -> tuple[Way, ...]:
    """Execute blocks, of which each but the last leads only to the next, from a state of which
    nothing is known; raises Unsupported."""
    machine = unknown_machine(engine, architecture.byte_order, blocks[0].address, _initial)
    for block in blocks[:-1]:
        ends = engine.run(block, machine)
        if len(ends) != 1 or ends[0].kind != "jump":
            raise Unsupported(block.address, "leads to more than the next block")
        machine = ends[0].machine
    return tuple(_way(architecture, engine, end) for end in engine.run(blocks[-1], machine))


def _way(architecture: Architecture, engine: Engine, successor: Successor) -> Way:
    machine = successor.machine
    if successor.kind not in ("jump", "call"):
        raise Unsupported(machine.instruction, successor.kind)
    term = machine.converter.term
    registers, kept = {}, set()
    for register in architecture.registers:
        offset, size = engine.layout.registers[register.storage]
        whole = term(machine.registers.read(offset, size))
        before = var(f"{INITIAL}{register.storage}", 8 * size)
        value, initial = (
            extract(one, *register.bits) if register.bits else one for one in (whole, before)
        )
        registers[register.name] = value
        if value is initial:
            kept.add(register.name)
    written = frozenset(
        offset
        for write in machine.register_writes
        for offset in range(write.offset, write.offset + write.value.width // 8)
    )
    guard, target = conjunction(term(guard) for guard in machine.guards), term(successor.target)
    touched = touches(machine)
    results = [guard, target, *(value for name, value in registers.items() if name not in kept)]
    accesses = (part for touch in touched for part in (touch.address, touch.value))
    return Way(
        guard,
        target,
        registers,
        touched,
        written,
        bool(machine.slow_operands),
        variables([*results, *accesses]),
        successor.kind == "call",
    )
