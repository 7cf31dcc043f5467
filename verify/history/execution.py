"""Execute histories under QEMU, all of them side by side.

A trap stands in place of each instruction that makes a system call. Every call runs up to a trap or
to its return; then the history says what the kernel answers, and all histories that have not ended
go on together in the next batch, from the registers and the memory in which they stopped.
"""

from __future__ import annotations

import random
import signal
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from specs.getrandom_world import SystemCall
from specs.opaque_state import STATE_BYTES
from verify import qemu
from verify.arch import ON_STACK, Saved
from verify.history.model import Done, Made
from verify.qemu.machines import PROGRAM_COUNTER
from verify.witness import registers as abi
from verify.witness.execution import STAYS_ZERO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.history.model import Answer, History, Program, Step

SECONDS = 20.0
"""What a call may take between two system calls; it needs milliseconds."""

IMAGE = {64: 0x0100_0000_0000, 32: 0x0800_0000}
"""Where an image is loaded, by pointer width: its address 0."""
STACK = {64: 0x0C00_0000_0000, 32: 0xC000_0000}
"""The stack pointer at entry, without the return address."""
STACK_DEPTH = 2048
STACK_ABOVE = 512

MARGIN = 64
"""So many bytes on either side of what a call may write are looked at."""

READY_OFFSET = 8
"""Of is_ready in the data page; generation is at 0 (Linux `include/vdso/datapage.h`)."""
DATA_BYTES = 64
"""As much of the data page, and of the page in front of it, is looked at."""

FLAGS_MASK = (1 << 32) - 1
_SIGN_EXTENDED = frozenset({"loongarch64", "riscv64"})
"""Where an unsigned int in a register is extended as if it had a sign; elsewhere by zeros."""


@dataclass(frozen=True)
class Arena:
    """Mapped memory: its name, its first address, and its contents; `owned` are the first and the
    last byte but one that a call may write, as offsets."""

    name: str
    address: int
    data: bytes
    owned: tuple[int, int] = (0, 0)

    @property
    def content(self) -> bytes:
        """What the call may write."""
        return self.data[slice(*self.owned)]

    def with_bytes(self, address: int, new: bytes) -> Arena:
        """The same with other bytes at an address, as far as they lie in it."""
        data = bytearray(self.data)
        for number, value in enumerate(new, address - self.address):
            if 0 <= number < len(data):
                data[number] = value
        return replace(self, data=bytes(data))


def execute(program: Program, histories: Sequence[History]) -> list[tuple[Done, ...]]:
    """What each call of each history does; a history ends with the first call that does not return.

    Raises QemuError when QEMU is missing or cannot carry this out.
    """
    runs = [_Run(program, history, number) for number, history in enumerate(histories)]
    code = _code(program)
    entry = program.entry + _base(program)
    while active := [run for run in runs if run.going]:
        cases = [run.case() for run in active]
        outcomes = qemu.run(program.architecture.name, code, entry, cases, timeout=SECONDS)
        for run, outcome in zip(active, outcomes, strict=True):
            run.stopped(outcome)
    return [tuple(run.done) for run in runs]


def _base(program: Program) -> int:
    return IMAGE[program.architecture.bits]


def _code(program: Program) -> list[tuple[int, bytes]]:
    """The image where it is loaded, with traps for system calls."""
    trap = program.architecture.illegal_instruction
    blobs = []
    for address, data in program.segments:
        patched = bytearray(data)
        for at in program.system_calls:
            if address <= at < address + len(data):
                patched[at - address : at - address + len(trap)] = trap
        blobs.append((address + _base(program), bytes(patched)))
    return blobs


@dataclass
class _Run:
    """A history on its way."""

    program: Program
    history: History
    seed: int
    done: list[Done] = field(default_factory=list)
    state: bytes = bytes(STATE_BYTES)
    made: list[Made] = field(default_factory=list)
    start: dict[str, int] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)
    arenas: tuple[Arena, ...] = ()
    expected: tuple[Arena, ...] = ()
    entry: int = 0

    def __post_init__(self) -> None:
        self.values = random.Random(self.seed)
        self.architecture = self.program.architecture
        self.machine = qemu.machine_of(self.architecture.name)
        self.going = bool(self.history)
        if self.going:
            self._begin()

    @property
    def step(self) -> Step:
        return self.history[len(self.done)]

    def _begin(self) -> None:
        """Get ready for the next call."""
        step, architecture = self.step, self.architecture
        if step.state is not None:
            self.state = step.state
        self.made = []
        self.entry = self.program.entry + _base(self.program)
        self.arenas = self.expected = self._arenas()
        registers = dict.fromkeys(self.machine.places, 0)
        del registers[PROGRAM_COUNTER]
        for register in abi.observed(architecture, Saved.CALLER, Saved.CALLEE, Saved.RESERVED):
            if register.name not in STAYS_ZERO:
                abi.write(architecture, registers, register.name, self.values.getrandbits(128))
        call = step.call
        signed = architecture.instruction_set in _SIGN_EXTENDED and call.flags >> 31
        flags = call.flags | (~FLAGS_MASK if signed else 0)
        arguments = (call.buffer, call.len, flags, call.opaque_state, call.opaque_len)
        given = dict(zip(architecture.arguments, arguments, strict=False))
        given[architecture.stack_pointer] = self._stack_pointer
        if architecture.return_address != ON_STACK:
            given[architecture.return_address] = self.machine.space.returned
        if self.program.toc is not None:
            given[architecture.toc] = self.program.toc + _base(self.program)
        for name, value in given.items():
            abi.write(architecture, registers, name, value)
        self.start = self.registers = registers

    @property
    def _stack_pointer(self) -> int:
        return STACK[self.architecture.bits] - self.architecture.popped_at_return

    def _arenas(self) -> tuple[Arena, ...]:
        step, order = self.step, self.architecture.byte_order
        page = _base(self.program) - self.program.data_page
        front = page - self.program.page_bytes
        data = step.generation.to_bytes(8, order) + bytes((step.is_ready,))
        arenas = [
            Arena("the data page", page, data.ljust(DATA_BYTES, b"\xa5")),
            # That of a time namespace, which says nothing of random numbers.
            Arena("the page in front of the data page", front, bytes(DATA_BYTES)),
        ]
        stack = bytearray(self.values.randbytes(STACK_DEPTH + STACK_ABOVE))
        pointer, popped = self._stack_pointer, self.architecture.popped_at_return
        returned = self.machine.space.returned.to_bytes(8, order)[:popped]
        stack[STACK_DEPTH : STACK_DEPTH + popped] = returned
        linkage = max((at + size for at, size in self.architecture.linkage_area), default=0)
        arenas.append(
            Arena(
                "the stack",
                pointer - STACK_DEPTH,
                bytes(stack),
                (0, STACK_DEPTH + linkage),
            )
        )
        for name, address, content in (
            ("the state", step.call.opaque_state, self.state),
            ("the buffer", step.call.buffer, step.buffer),
        ):
            if content:
                around = (self.values.randbytes(MARGIN) for _ in range(2))
                whole = content.join(around)
                owned = (MARGIN, MARGIN + len(content))
                arenas.append(Arena(name, address - MARGIN, whole, owned))
        return tuple(arenas)

    def case(self) -> qemu.Case:
        """From where it goes on."""
        return qemu.Case(
            registers={n: v for n, v in self.registers.items() if n != PROGRAM_COUNTER},
            memory=tuple((arena.address, arena.data) for arena in self.arenas),
            observe=tuple((arena.address, len(arena.data)) for arena in self.arenas),
            entry=self.entry,
        )

    def stopped(self, outcome: qemu.Outcome) -> None:
        """Answer the system call at which it has stopped, or end the call."""
        self.registers = dict(outcome.registers)
        self.arenas = tuple(
            replace(arena, data=data)
            for arena, data in zip(self.arenas, outcome.memory, strict=True)
        )
        self.state = self._named("the state").content
        at = outcome.registers[PROGRAM_COUNTER] - _base(self.program)
        if outcome.signal is None:
            self._end(self._result(), self._breaches())
            return
        if outcome.signal == signal.SIGILL and at in self.program.system_calls:
            self.made.append(self._system_call())
            if len(self.made) <= len(self.step.answers):
                answer = self.step.answers[len(self.made) - 1]
                self._answer(answer.cut(self.made[-1].call.len))
                self.entry = outcome.registers[PROGRAM_COUNTER]
                self.entry += len(self.architecture.system_calls.instruction)
                return
            self._end(None, ("it makes a system call more than there are answers",))
            return
        self._end(None, (f"signal {outcome.signal} at {at:#x} stops it",))

    def _named(self, name: str) -> Arena:
        (arena,) = (arena for arena in self.arenas if arena.name == name)
        return arena

    def _read(self, name: str) -> int:
        return abi.read(self.architecture, self.registers, name)

    def _system_call(self) -> Made:
        calls = self.architecture.system_calls
        buffer, size, flags = (self._read(name) for name in calls.arguments[:3])
        return Made(
            self._read(calls.number), SystemCall(buffer, size, flags & FLAGS_MASK), self.state
        )

    def _answer(self, answer: Answer) -> None:
        calls = self.architecture.system_calls
        for name in calls.destroyed:
            abi.write(self.architecture, self.registers, name, self.values.getrandbits(64))
        result = abs(answer.result) if calls.error else answer.result
        abi.write(self.architecture, self.registers, calls.result, result)
        if calls.error:
            abi.write(self.architecture, self.registers, calls.error, answer.result < 0)
        self._put(self.made[-1].call.buffer, answer.written)
        if answer.state is not None:
            self._put(self.step.call.opaque_state, answer.state)
        if answer.generation is not None:
            page = _base(self.program) - self.program.data_page
            self._put(page, answer.generation.to_bytes(8, self.architecture.byte_order))

    def _put(self, address: int, new: bytes) -> None:
        self.arenas = tuple(arena.with_bytes(address, new) for arena in self.arenas)
        self.expected = tuple(arena.with_bytes(address, new) for arena in self.expected)

    def _result(self) -> int:
        """What it returned, an error as a negative number."""
        calls, bits = self.architecture.system_calls, self.architecture.bits
        result = self._read(calls.result)
        if calls.error:
            return -result if self._read(calls.error) else result
        return result - (1 << bits) if result >> (bits - 1) else result

    def _breaches(self) -> tuple[str, ...]:
        """What a caller may not expect at the return."""
        architecture = self.architecture
        found = [
            f"it writes where nothing is its own, at {offset - now.owned[0]:+} of {now.name}"
            for was, now in zip(self.expected, self.arenas, strict=True)
            for offset in _foreign(was, now)
        ]
        popped = architecture.popped_at_return
        for register in abi.observed(architecture, Saved.CALLEE, Saved.RESERVED):
            name = register.name
            was = abi.read(architecture, self.start, name)
            if name == architecture.stack_pointer:
                was += popped
            if self._read(name) != was:
                found.append(f"it does not restore {name}")
        return tuple(found)

    def _end(self, result: int | None, breaches: tuple[str, ...]) -> None:
        buffers = [arena.content for arena in self.arenas if arena.name == "the buffer"]
        self.done.append(
            Done(result, b"".join(buffers), self.state, tuple(self.made), breaches),
        )
        self.going = result is not None and len(self.done) < len(self.history)
        if self.going:
            self._begin()


def _foreign(was: Arena, now: Arena) -> list[int]:
    """The first byte that has changed and is not the call's to write."""
    first, last = now.owned
    changed = (
        offset
        for offset, (one, other) in enumerate(zip(was.data, now.data, strict=True))
        if one != other and not first <= offset < last
    )
    return list(changed)[:1]
