"""What a reading says of one state, and how that differs from what QEMU did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from verify import qemu
from verify.qemu.machines import PROGRAM_COUNTER
from verify.terms import evaluate
from verify.validate.model import Mismatch
from verify.validate.reading import Path, Reading
from verify.validate.registers import Registers
from verify.validate.states import State


class OutsideWindow(Exception):
    """An access does not fall into the memory that the state has."""


@dataclass(frozen=True)
class Expectation:
    """The state behind the instruction: registers with the program counter, the bytes observed,
    and which of the reading's paths are taken."""

    registers: dict[str, int]
    memory: bytes
    taken: tuple[int, ...]


def expect(reading: Reading, state: State, registers: Registers) -> Expectation:
    """Evaluate a reading on a state; raises OutsideWindow.

    Where not exactly one path is taken, registers and memory are those before the instruction.
    """
    behind = [_follow(path, reading, state, registers) for path in reading.paths]
    taken = tuple(number for number, one in enumerate(behind) if one is not None)
    if len(taken) == 1:
        (chosen,) = (one for one in behind if one is not None)
        after, memory = chosen
    else:
        after, memory = {**state.registers, PROGRAM_COUNTER: reading.address}, _before(state)
    return Expectation(after, bytes(memory), taken)


def _before(state: State) -> bytearray:
    observed = state.observed
    if observed is None or state.window is None:
        return bytearray()
    start, size = observed
    address, data = state.window
    memory = bytearray(size)
    memory[address - start : address - start + len(data)] = data
    return memory


def _follow(
    path: Path, reading: Reading, state: State, registers: Registers
) -> tuple[dict[str, int], bytearray] | None:
    """Registers and memory behind a path, None where it is not taken."""
    values = registers.assignment(state.registers, reading.variables)
    order = registers.byte_order
    memory = _before(state)
    start = state.observed[0] if state.observed else 0
    for touch in path.touches:
        at = evaluate((touch.address,), values)[touch.address] - start
        if not 0 <= at <= len(memory) - touch.size:
            raise OutsideWindow
        if touch.write:
            stored = evaluate((touch.value,), values)[touch.value]
            memory[at : at + touch.size] = stored.to_bytes(touch.size, order)
        else:
            values[touch.value] = int.from_bytes(memory[at : at + touch.size], order)
    values = evaluate((path.guard, path.target, *path.registers.values()), values)
    if not values[path.guard]:
        return None
    after = dict(state.registers)
    for name, term in path.registers.items():
        registers.set(after, name, values[term])
    after[PROGRAM_COUNTER] = values[path.target]
    return after, memory


def difference(
    reading: Reading,
    state: State,
    expectation: Expectation,
    outcome: qemu.Outcome,
    registers: Registers,
    undefined: Iterable[str],
) -> Mismatch | None:
    """The first thing in which QEMU's outcome differs from the expectation, leaving out the
    registers that are undefined behind the instruction."""

    def mismatch(where: str, expected: int, got: int) -> Mismatch:
        memory = () if state.window is None else (state.window,)
        return Mismatch(where, expected, got, state.registers, memory, reading.address)

    if len(expectation.taken) != 1:
        return mismatch("number of ways through the instruction", 1, len(expectation.taken))
    if expectation.registers != outcome.registers:
        name = registers.first_difference(expectation.registers, outcome.registers, undefined)
        if name is not None:
            where = "control flow" if name == PROGRAM_COUNTER else name
            return mismatch(where, outcome.registers[name], expectation.registers[name])
    if state.observed is not None and expectation.memory != outcome.memory[0]:
        pairs = enumerate(zip(outcome.memory[0], expectation.memory, strict=True))
        offset, (theirs, ours) = next((n, pair) for n, pair in pairs if pair[0] != pair[1])
        return mismatch(f"memory at {state.observed[0] + offset:#x}", theirs, ours)
    return None
