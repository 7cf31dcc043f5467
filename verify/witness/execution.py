"""Run the real bytes of a target under QEMU, from the function's entry or from any later state."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specs.contract import ARGUMENTS
from verify import qemu
from verify.arch import ON_STACK, Saved
from verify.qemu.machines import PROGRAM_COUNTER
from verify.witness import registers as abi
from verify.witness.inputs import generator
from verify.witness.placement import DEEP_STACK, STACK, STACK_DEPTH, Edge, Placement, place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verify.target import Target
    from verify.witness.inputs import Inputs

SECONDS = 0.1
"""What a case may take at first; it needs a few milliseconds."""

PATIENT_SECONDS = 1.0
"""What a case may take that has not ended in time, so that a busy machine is not taken for an
endless loop."""

STACK_LIMIT = 8 << 20
"""As much stack as a process usually has, in bytes; only its upper end is mapped here."""

_LOAD_ADDRESSES = {64: 0x0100_0000_0000, 32: 0x0800_0000}
"""Added to the addresses of an image that is linked below what QEMU can map, by pointer width."""

# Bits that could make floating-point instructions or accesses raise signals, and the direction
# flag, which is clear at entry.
STAYS_ZERO = frozenset({"fcsr", "fpc.masks", "fpcr", "df", "ac"})


@dataclass(frozen=True)
class State:
    """All registers by the runner's names, and the contents of each arena."""

    registers: Mapping[str, int]
    memory: tuple[bytes, ...]


@dataclass(frozen=True)
class Execution:
    """What was executed, from which state at the function's entry to which state.

    `pc` is the address in the image at which it stopped, None after a return to the caller.
    `signal` and `fault_address` are as in `verify.qemu.Outcome`, except that a trap planted by
    this package is not a signal but `trapped`.
    """

    target: Target
    inputs: Inputs
    placement: Placement
    start: State
    end: State
    pc: int | None
    signal: int | None = None
    fault_address: int | None = None
    trapped: bool = False
    seconds: float = SECONDS
    """What it was allowed to take."""

    @property
    def returned(self) -> bool:
        """Whether the function came back to its return address."""
        return self.pc is None

    @property
    def outside_image(self) -> bool:
        """Whether it stopped where the image has no bytes."""
        size = self.target.architecture.instruction_alignment
        return self.pc is not None and self.target.code(self.pc, size) is None

    @property
    def inconclusive(self) -> str:
        """Why this execution says nothing about the function; empty if it does."""
        if self.signal == signal.SIGILL and not self.outside_image:
            name = self.target.architecture.name
            unknown = f"{qemu.available(name)} does not know the instruction at {self.pc:#x}"
            return ": ".join(filter(None, (unknown, qemu.lacking(name))))
        if self.signal == signal.SIGALRM and self.seconds < PATIENT_SECONDS:
            return f"it did not return within {self.seconds} s"
        if self.short_of_stack:
            return f"the instruction at {self.pc:#x} needs more stack than is mapped here"
        return ""

    @property
    def short_of_stack(self) -> bool:
        """Whether it stopped at an access to what may be stack, but is not mapped."""
        stack = self.placement.arena(STACK).address
        return (
            self.signal == signal.SIGSEGV
            and self.fault_address is not None
            and stack - STACK_LIMIT <= self.fault_address < stack
        )

    def register(self, name: str) -> int:
        """The value at the end of the register that the ABI calls `name`."""
        return abi.read(self.target.architecture, self.end.registers, name)

    def initial_register(self, name: str) -> int:
        """The value at the function's entry of the register that the ABI calls `name`."""
        return abi.read(self.target.architecture, self.start.registers, name)

    @property
    def stack_pointer(self) -> int:
        """The stack pointer at the end."""
        return self.register(self.target.architecture.stack_pointer)

    def memory(self, region: str, offset: int, size: int) -> bytes:
        """`size` bytes at the end, at `offset` from a region, or from sp at entry for the stack.

        Raises LookupError for memory that is not mapped next to the region.
        """
        return self._memory(self.end, region, offset, size)

    def initial_memory(self, region: str, offset: int, size: int) -> bytes:
        """As `memory`, at the function's entry."""
        return self._memory(self.start, region, offset, size)

    def _locate(self, region: str, offset: int, size: int) -> tuple[int, int]:
        address = self.placement.addresses[region] + offset
        for number, arena in enumerate(self.placement.arenas):
            if arena.address <= address and address + size <= arena.end:
                return number, address - arena.address
        raise LookupError(f"{size} bytes at {region} {offset:+} are not mapped")

    def _memory(self, state: State, region: str, offset: int, size: int) -> bytes:
        number, at = self._locate(region, offset, size)
        return state.memory[number][at : at + size]

    def with_memory(self, region: str, offset: int, content: bytes) -> Execution:
        """The same with other bytes in memory at the end."""
        number, at = self._locate(region, offset, len(content))
        memory = list(self.end.memory)
        was = memory[number]
        memory[number] = was[:at] + content + was[at + len(content) :]
        return replace(self, end=State(self.end.registers, tuple(memory)))


def load_offset(target: Target) -> int:
    """What is added to the image's addresses under QEMU."""
    lowest = min(segment.address for segment in target.segments)
    architecture = target.architecture
    first, _ = qemu.machine_of(architecture.name).space.usable
    return 0 if lowest >= first else _LOAD_ADDRESSES[architecture.bits]


def other_registers(target: Target, inputs: Inputs) -> Inputs:
    """The same inputs with other values in all registers that may hold anything at entry."""
    architecture = target.architecture
    values = generator(f"other registers {inputs.seed}")
    given = {*architecture.arguments[: len(ARGUMENTS)], architecture.return_address, *STAYS_ZERO}
    others = {
        register.name: values.getrandbits(128)
        for register in abi.undefined(architecture)
        if register.name not in given
    }
    return replace(inputs, registers={**inputs.registers, **others})


def _initial_registers(target: Target, inputs: Inputs, placement: Placement) -> dict[str, int]:
    architecture = target.architecture
    values = generator(f"registers {inputs.seed}")
    registers = dict.fromkeys(qemu.machine_of(architecture.name).places, 0)
    del registers[PROGRAM_COUNTER]
    for register in abi.observed(architecture, Saved.CALLER, Saved.CALLEE, Saved.RESERVED):
        if register.name not in STAYS_ZERO:
            abi.write(architecture, registers, register.name, values.getrandbits(128))
    arguments = {**placement.addresses, "nblocks": inputs.nblocks}
    given = {
        register: arguments[argument]
        for register, argument in zip(architecture.arguments, ARGUMENTS, strict=False)
    }
    given[architecture.stack_pointer] = placement.addresses[STACK]
    if architecture.return_address != ON_STACK:
        returned = qemu.machine_of(architecture.name).space.returned
        given[architecture.return_address] = returned
    if target.function.toc is not None:
        given[architecture.toc] = target.function.toc + load_offset(target)
    for name in inputs.registers:
        if name in given:
            raise ValueError(f"{name} has its value from the contract, it cannot be given another")
    for name, value in {**inputs.registers, **given}.items():
        abi.write(architecture, registers, name, value)
    return registers


def begin(
    target: Target, inputs: Inputs, edge: Edge | None = None, depth: int = STACK_DEPTH
) -> Execution:
    """Nothing executed yet: the state at the function's entry; at least `depth` bytes of stack.

    Raises ValueError for an impossible edge, or when `inputs.registers` names a register that the
    contract gives its value or that QEMU cannot set.
    """
    placement = place(target.architecture, inputs, edge, depth)
    state = State(
        _initial_registers(target, inputs, placement),
        tuple(arena.data for arena in placement.arenas),
    )
    return Execution(target, inputs, placement, state, state, target.function.address)


def _code(target: Target, planted: int | None) -> list[tuple[int, bytes]]:
    """The image's bytes where they are loaded, with an illegal instruction planted."""
    offset = load_offset(target)
    trap = target.architecture.illegal_instruction
    size = len(trap)
    blobs = []
    for segment in target.segments:
        data = segment.data
        at = -1 if planted is None else planted - segment.address
        if 0 <= at <= len(data) - size:
            data = data[:at] + trap + data[at + size :]
        blobs.append((segment.address + offset, data))
    return blobs


def _run(
    executions: Sequence[Execution], entry: int, planted: int | None, seconds: float
) -> list[Execution]:
    target = executions[0].target
    offset = load_offset(target)
    cases = [
        qemu.Case(
            registers={
                name: value
                for name, value in execution.end.registers.items()
                if name != PROGRAM_COUNTER
            },
            memory=tuple(
                (arena.address, content)
                for arena, content in zip(
                    execution.placement.arenas, execution.end.memory, strict=True
                )
            ),
            observe=tuple((arena.address, len(arena.data)) for arena in execution.placement.arenas),
        )
        for execution in executions
    ]
    outcomes = qemu.run(
        target.architecture.name,
        _code(target, planted),
        entry + offset,
        cases,
        timeout=seconds,
    )
    done = []
    for execution, outcome in zip(executions, outcomes, strict=True):
        pc = None if outcome.signal is None else outcome.registers[PROGRAM_COUNTER] - offset
        trapped = outcome.signal == signal.SIGILL and pc == planted
        done.append(
            replace(
                execution,
                end=State(outcome.registers, outcome.memory),
                pc=pc,
                signal=None if trapped else outcome.signal,
                fault_address=None if trapped else outcome.fault_address,
                trapped=trapped,
                seconds=seconds,
            )
        )
    return done


def run_on(
    executions: Sequence[Execution], entry: int, planted: int | None = None
) -> list[Execution]:
    """Go on from where the executions, all of one target, have ended, at the address `entry`.

    With `planted`, an address in the image, they stop before the instruction there. Those that
    do not end within SECONDS get PATIENT_SECONDS, up to the first that does not end then either.
    Raises QemuError when QEMU is missing or cannot carry this out.
    """
    if not executions:
        return []
    done = _run(executions, entry, planted, SECONDS)
    late = [number for number, one in enumerate(done) if one.signal == signal.SIGALRM]
    for number in late:
        (done[number],) = _run([executions[number]], entry, planted, PATIENT_SECONDS)
        if done[number].signal == signal.SIGALRM:
            break
    return done


def execute(target: Target, inputs: Sequence[Inputs]) -> list[Execution]:
    """Call the function once with each of the inputs, all in one QEMU process.

    Those that need more stack than is usual are called again with more. Raises QemuError when QEMU
    is missing or cannot carry this out, ValueError as `begin` does.
    """
    entry = target.function.address
    done = run_on([begin(target, one) for one in inputs], entry)
    short = [number for number, one in enumerate(done) if one.short_of_stack]
    deep = run_on([begin(target, inputs[number], depth=DEEP_STACK) for number in short], entry)
    for number, again in zip(short, deep, strict=True):
        done[number] = again
    return done
