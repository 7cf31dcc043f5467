"""Finding ChaCha20 in code without symbols, by what its functions call and compute.

A guess, however good: what is found is then proved, or not, like any other function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specs.chacha20 import CONSTANTS
from verify.lift.engine import Block, Engine, Successor
from verify.lift.machine import Machine, Unsupported
from verify.prove.cfg import ControlFlow, control_flow

MAX_CALLS = 4
"""From the exported function to ChaCha20: one call, or two where a wrapper stands between."""
MAX_FUNCTIONS = 64

MachineAt = Callable[[int], Machine]
"""A machine at the address, of which nothing is known."""


@dataclass(frozen=True)
class Candidate:
    """A function that builds all of ChaCha20's constants.

    `address` and `size` (in bytes, up to the end of its control flow) are its range, `call` is
    the address of the instruction that calls it.
    """

    address: int
    size: int
    call: int


@dataclass(frozen=True)
class Survey:
    """What was found, and why functions on the way could not be looked into."""

    candidates: tuple[Candidate, ...]
    unreadable: tuple[Unsupported, ...]


def survey(engine: Engine, machine_at: MachineAt, entry: int) -> Survey:
    """The functions called from the one at `entry`, directly or through at most `MAX_CALLS`
    calls, that build ChaCha20's constants.

    Where the straight line from `entry` on ends with a jump, what lies behind the jump belongs to
    the function as well: the kernels of arm64 and s390x replace that jump, to the system call, when
    the processor has vectors.
    """
    candidates: list[Candidate] = []
    unreadable: list[Unsupported] = []
    pending = [(start, 0, 0) for start in _entries(engine, entry)]
    known = {entry}
    while pending:
        address, call, depth = pending.pop(0)
        try:
            flow = control_flow(engine, address)
        except Unsupported as error:
            unreadable.append(error)
            continue
        missing = set(CONSTANTS)
        for successor in _walk(engine, flow, machine_at, address):
            missing -= _constants(successor.machine)
            if not missing and call:
                candidates.append(Candidate(address, flow.end - address, call))
                break
            target = successor.machine.converter.term(successor.target).value
            new = successor.kind == "call" and target is not None and target not in known
            if new and depth < MAX_CALLS and len(known) < MAX_FUNCTIONS:
                assert target is not None
                known.add(target)
                pending.append((target, successor.machine.instruction, depth + 1))
    return Survey(tuple(candidates), tuple(unreadable))


def _entries(engine: Engine, entry: int) -> tuple[int, ...]:
    """The address, and the one behind the jump that the first block ends with, if it does."""
    try:
        first = engine.lift(entry)
    except Unsupported:
        return (entry,)
    behind = first.address + first.size
    targets = engine.targets(first)
    return (entry, behind) if len(targets) == 1 and behind not in targets else (entry,)


def _walk(
    engine: Engine, flow: ControlFlow, machine_at: MachineAt, entry: int
) -> Iterator[Successor]:
    """Execute each block once, after one of the paths that lead to it; yield what comes out."""
    pending = [machine_at(entry)]
    done: set[int] = set()
    while pending:
        machine = pending.pop()
        address = machine.pc
        if address in done:
            continue
        done.add(address)
        reached = set()
        for successor in _run(engine, flow.blocks[address], machine_at, machine):
            yield successor
            after = successor.machine
            target = after.converter.term(successor.target).value
            if successor.kind == "jump" and target in flow.blocks:
                after.pc = target
                after.register_writes.clear()
                reached.add(target)
                pending.append(after)
        # A call destroys registers, and what cannot be executed leaves none known.
        pending.extend(machine_at(a) for a in flow.successors[address] if a not in reached)


def _run(
    engine: Engine, block: Block, machine_at: MachineAt, machine: Machine
) -> Iterator[Successor]:
    """Execute a block, with nothing known any more behind an instruction without semantics."""
    try:
        yield from engine.run(block, machine)
    except Unsupported:
        stopped = block.instructions.index(machine.instruction)
        left = block.instructions[stopped + 1 :]
        if left:
            rest = engine.lift(left[0], len(left))
            yield from _run(engine, rest, machine_at, machine_at(rest.address))


def _constants(machine: Machine) -> set[int]:
    """The 32-bit words in the constants that the machine has written to registers."""
    found = set()
    for write in machine.register_writes:
        if write.value.value is not None:
            lanes = range(0, write.value.width, 32)
            found |= {write.value.value >> lane & 0xFFFF_FFFF for lane in lanes}
    return found
