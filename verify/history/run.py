"""One history on its way: what is set up for each call, and what happens where it stops."""

from __future__ import annotations

import random
import signal
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from specs.getrandom_world import SystemCall
from specs.opaque_state import KEY_BYTES, KEY_OFFSET, STATE_BYTES
from verify import qemu
from verify.arch import ON_STACK, Saved
from verify.history.memory import (
    BUFFER,
    IMAGE,
    SPACING,
    STACK,
    STACK_POINTER,
    STATE,
    Memory,
    data_page,
    memory_of,
    page_content,
    return_address,
    surrounded,
)
from verify.history.model import PERSISTENT, Breach, Done, Harm, Left, Made
from verify.qemu.machines import PROGRAM_COUNTER
from verify.witness import registers as abi
from verify.witness.execution import STACK_LIMIT, STAYS_ZERO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.history.model import Answer, History, Interruption, Program, Step

FLAGS_MASK = (1 << 32) - 1
_SIGN_EXTENDED = frozenset({"loongarch64", "riscv64"})
"""Where an unsigned int in a register is extended as if it had a sign; elsewhere by zeros."""

SIGNAL_FRAME = 128
"""From what the interrupted call may use of the stack to the stack of a signal handler."""


class _Zeros(random.Random):
    """Nothing but zeros."""

    def getrandbits(self, bits: int, /) -> int:  # noqa: ARG002 (as many bits as there are)
        return 0


@dataclass
class Frame:
    """A call that has begun and not ended.

    `start` are the registers at entry; `expected` is the memory at entry, with what others have
    written since. `seen` is what a signal handler could have seen where it stopped. `saved` are the
    registers of the call that this one interrupts, and where that goes on.
    """

    step: Step
    buffer: str
    start: dict[str, int]
    expected: Memory
    pending: list[Interruption]
    made: list[Made] = field(default_factory=list)
    nested: list[Done] = field(default_factory=list)
    seen: list[Breach] = field(default_factory=list)
    saved: tuple[dict[str, int], int] | None = None


class Run:
    """A history on its way.

    `done` is what the calls that have ended did, `going` tells whether one has not. `entry` is
    where that goes on in the image at `base`, whose `traps` are at addresses of the image. Those of
    one `batch` have images that do not overlap. `seed` chooses what registers and memory hold of
    which the history says nothing; None for zeros.
    """

    def __init__(
        self, program: Program, history: History, seed: int | None, image: int, together: int
    ) -> None:
        self.program = program
        self.architecture = program.architecture
        self.machine = qemu.machine_of(program.architecture.name)
        self.history = history
        self.values = _Zeros() if seed is None else random.Random(seed)
        self.batch = image // together
        self.base = IMAGE[program.architecture.bits] + image % together * SPACING
        self.done: list[Done] = []
        self.state = bytes(STATE_BYTES)
        self.memory: Memory = {}
        self.registers: dict[str, int] = {}
        self.entry = 0
        self.frames: list[Frame] = []
        self.going = bool(history)
        if self.going:
            self._begin()

    @property
    def frame(self) -> Frame:
        """The call that executes."""
        return self.frames[-1]

    @property
    def traps(self) -> frozenset[int]:
        """Where it must stop."""
        frame = self.frame
        due = (one.address for one in frame.pending if one.after <= len(frame.made))
        return self.program.system_calls.union(due)

    def case(self) -> qemu.Case:
        """From where it goes on."""
        arenas = self.memory.values()
        return qemu.Case(
            registers={n: v for n, v in self.registers.items() if n != PROGRAM_COUNTER},
            memory=tuple((arena.address, arena.data) for arena in arenas),
            observe=tuple((arena.address, len(arena.data)) for arena in arenas),
            entry=self.entry,
        )

    def stopped(self, outcome: qemu.Outcome) -> None:
        """Let happen what the history says of where it has stopped."""
        self.registers = dict(outcome.registers)
        self.memory = {
            name: replace(arena, data=data)
            for (name, arena), data in zip(self.memory.items(), outcome.memory, strict=True)
        }
        self.state = self.memory[STATE].content
        self.entry = outcome.registers[PROGRAM_COUNTER]
        at = self.entry - self.base
        if outcome.signal is None:
            self._return()
        elif outcome.signal != signal.SIGILL or at not in self.traps:
            harm, text = self._harm(outcome), f"signal {outcome.signal} at {at:#x} stops it"
            if harm is Harm.STACK:
                text = f"the instruction at {at:#x} uses what lies below the stack pointer"
            self._give_up(Breach(harm, text))
        else:
            self._look(at)
            if not self._interrupt(at):
                self._system_call()

    def _begin(self) -> None:
        """Get ready for the next call of the history."""
        step = self.history[len(self.done)]
        if step.state is not None:
            self.state = step.state
        self.memory = memory_of(self.program, self.base, step, self.state, self.values)
        self._enter(step, BUFFER, STACK_POINTER[self.architecture.bits])

    def _look(self, at: int) -> None:
        """Note which reserved registers are not as they were."""
        seen = self.frame.seen
        for register in abi.observed(self.architecture, Saved.RESERVED):
            if not seen and self._read(register.name) != self._held(register.name):
                text = f"it has changed {register.name} where it comes to {at:#x}"
                seen.append(Breach(Harm.REGISTER, text))

    def _held(self, name: str) -> int:
        """What a register held when the call that executes began."""
        return abi.read(self.architecture, self.frame.start, name)

    def _interrupt(self, at: int) -> bool:
        """Whether something happens in front of the instruction at `at`; lets that happen."""
        frame = self.frame
        now = [one for one in frame.pending if one.address == at and one.after <= len(frame.made)]
        if not now:
            return False
        interruption = now[0]
        frame.pending.remove(interruption)
        if interruption.state is not None:
            self._put(frame.step.call.opaque_state, interruption.state)
            self.state = interruption.state
        if interruption.generation is not None:
            self._set_generation(interruption.generation)
        if interruption.call is not None:
            self._handle(interruption.call)
        return True

    def _handle(self, step: Step) -> None:
        """Begin a call of a signal handler."""
        saved = self.registers, self.entry
        name = f"{BUFFER} of handler {len(self.frames)}"
        if step.buffer:
            self.memory[name] = surrounded(step.call.buffer, step.buffer, self.values)
        used = self._read(self.architecture.stack_pointer) - self.architecture.red_zone
        self._enter(step, name, (used - SIGNAL_FRAME) & -16, saved)

    def _enter(
        self,
        step: Step,
        buffer: str,
        above: int,
        saved: tuple[dict[str, int], int] | None = None,
    ) -> None:
        """Begin a call whose caller's stack pointer is `above`."""
        architecture, call = self.architecture, step.call
        self._put(self._data_page, page_content(self.program, step))
        pointer = above - architecture.popped_at_return
        self._put(pointer, return_address(self.program))
        linkage = max((at + size for at, size in architecture.linkage_area), default=0)
        stack = self.memory[STACK]
        self.memory[STACK] = stack.with_owned(pointer + linkage - stack.address)
        registers = dict.fromkeys(self.machine.places, 0)
        del registers[PROGRAM_COUNTER]
        for register in abi.observed(architecture, Saved.CALLER, Saved.CALLEE, Saved.RESERVED):
            if register.name not in STAYS_ZERO:
                abi.write(architecture, registers, register.name, self.values.getrandbits(128))
        signed = architecture.instruction_set in _SIGN_EXTENDED and call.flags >> 31
        flags = call.flags | (~FLAGS_MASK if signed else 0)
        arguments = (call.buffer, call.len, flags, call.opaque_state, call.opaque_len)
        given = dict(zip(architecture.arguments, arguments, strict=False))
        given[architecture.stack_pointer] = pointer
        if architecture.return_address != ON_STACK:
            given[architecture.return_address] = self.machine.space.returned
        if self.program.toc is not None:
            given[architecture.toc] = self.program.toc + self.base
        for name, value in given.items():
            abi.write(architecture, registers, name, value)
        self.registers, self.entry = registers, self.program.entry + self.base
        pending = list(step.interruptions)
        self.frames.append(Frame(step, buffer, registers, dict(self.memory), pending, saved=saved))

    def _return(self) -> None:
        """End a call that has returned, and go on with the one that it interrupted, or the next."""
        frame, done = self.frame, self._ended(self._result(), self._breaches())
        self.frames.pop()
        if frame.saved is not None:
            self.memory.pop(frame.buffer, None)
            self.memory[STACK] = replace(self.memory[STACK], owned=self.frame.expected[STACK].owned)
            self.registers, self.entry = frame.saved
            self.frame.nested.append(done)
            return
        self.done.append(done)
        self.going = len(self.done) < len(self.history)
        if self.going:
            self._begin()

    def _harm(self, outcome: qemu.Outcome) -> Harm:
        """What a signal that stops a call says of the code."""
        if outcome.signal == signal.SIGALRM:
            return Harm.ENDLESS
        step, at, pc = self.frame.step, outcome.fault_address, self.entry - self.base
        inside = any(start <= pc < start + len(data) for start, data in self.program.segments)
        if outcome.signal == signal.SIGILL:
            # Outside there is nothing to be executed; inside QEMU need not know it.
            return Harm.INCONCLUSIVE if inside else Harm.STOPPED
        stack = self.memory[STACK].address
        unused = self._read(self.architecture.stack_pointer) - self.architecture.red_zone
        if at is not None and stack - STACK_LIMIT <= at < min(stack, unused - qemu.PAGE):
            return Harm.STACK
        not_mapped_here = at is None or (
            stack - STACK_LIMIT <= at < stack
            or len(step.buffer) <= at - step.call.buffer < step.call.len
        )
        return Harm.INCONCLUSIVE if not_mapped_here else Harm.STOPPED

    def _give_up(self, breach: Breach) -> None:
        """End all calls that have begun."""
        done = self._ended(None, (breach,))
        while len(self.frames) > 1:
            self.frames.pop()
            self.frame.nested.append(done)
            breach = Breach(breach.harm, "a call that interrupts it does not return")
            done = self._ended(None, (breach,))
        self.done.append(done)
        self.going = False

    def _ended(self, result: int | None, breaches: tuple[Breach, ...]) -> Done:
        frame = self.frame
        buffer = self.memory[frame.buffer].content if frame.step.buffer else b""
        interrupted = len(frame.step.interruptions) - len(frame.pending)
        return Done(
            result,
            buffer,
            self.state,
            tuple(frame.made),
            interrupted,
            tuple(frame.nested),
            (*frame.seen, *breaches),
            None if result is None else self._left(),
        )

    def _left(self) -> Left:
        stack, pointer = self.memory[STACK], self.frame.start[self.architecture.stack_pointer]
        saved = (Saved.CALLER, Saved.CALLEE, Saved.RESERVED)
        registers = abi.observed(self.architecture, *saved)
        return Left(
            {register.name: self._read(register.name) for register in registers},
            stack.data[: pointer - stack.address],
        )

    def _system_call(self) -> None:
        """Note a system call, and answer it."""
        frame, calls = self.frame, self.architecture.system_calls
        buffer, size, flags = (self._read(name) for name in calls.arguments[:3])
        made = SystemCall(buffer, size, flags & FLAGS_MASK)
        frame.made.append(Made(self._read(calls.number), made, self.state))
        if len(frame.made) > len(frame.step.answers):
            self._give_up(self._unanswered(frame.step.answers, key=buffer in self._key))
            return
        self._answer(frame.step.answers[len(frame.made) - 1].cut(size), buffer)
        self.entry += len(calls.instruction)

    @property
    def _key(self) -> range:
        """The addresses of the key in the state of the call that executes."""
        start = self.frame.step.call.opaque_state + KEY_OFFSET
        return range(start, start + KEY_BYTES)

    def _unanswered(self, answers: Sequence[Answer], *, key: bool) -> Breach:
        """What a system call more than there are answers says, which is for a key or not."""
        if len(answers) < PERSISTENT:
            text = "it makes a system call more than there are answers"
            return Breach(Harm.INCONCLUSIVE, text)
        reseeds = all(answer.generation is not None for answer in answers)
        asks = "asks for a key" if key else "makes a system call"
        given = "reseeds" if reseeds else "answers"
        return Breach(Harm.PERSISTENT, f"it still {asks} after {len(answers)} {given} in a row")

    def _answer(self, answer: Answer, buffer: int) -> None:
        calls = self.architecture.system_calls
        for name in calls.destroyed:
            abi.write(self.architecture, self.registers, name, self.values.getrandbits(64))
        result = abs(answer.result) if calls.error else answer.result
        abi.write(self.architecture, self.registers, calls.result, result)
        if calls.error:
            abi.write(self.architecture, self.registers, calls.error, answer.result < 0)
        self._put(buffer, answer.written)
        if answer.state is not None:
            self._put(self.frame.step.call.opaque_state, answer.state)
        if answer.generation is not None:
            self._set_generation(answer.generation)
        self.state = self.memory[STATE].content

    def _set_generation(self, generation: int) -> None:
        self._put(self._data_page, generation.to_bytes(8, self.architecture.byte_order))

    @property
    def _data_page(self) -> int:
        """The address of the generator's data, for this call and those of its signal handlers."""
        inside = self.history[len(self.done)].inside
        return data_page(self.program, self.base, inside=inside)

    def _put(self, address: int, new: bytes) -> None:
        """Write to memory from outside."""
        for memory in (self.memory, *(frame.expected for frame in self.frames)):
            memory.update({name: one.with_bytes(address, new) for name, one in memory.items()})

    def _read(self, name: str) -> int:
        return abi.read(self.architecture, self.registers, name)

    def _result(self) -> int:
        """What it returned, an error as a negative number."""
        calls, bits = self.architecture.system_calls, self.architecture.bits
        result = self._read(calls.result)
        if calls.error:
            return -result if self._read(calls.error) else result
        return result - (1 << bits) if result >> (bits - 1) else result

    def _breaches(self) -> tuple[Breach, ...]:
        """What a caller may not expect at the return."""
        architecture, frame = self.architecture, self.frame
        calls = architecture.system_calls
        found = []
        if calls.error and self._read(calls.error) and not self._read(calls.result):
            found.append(Breach(Harm.ERROR, "it tells an error, and the number 0"))
        for name, was in frame.expected.items():
            offset = self.memory[name].foreign(was)
            if offset is not None:
                harm = Harm.STACK if name == STACK else Harm.MEMORY
                text = f"it writes where nothing is its own, at {offset:+} of {name}"
                found.append(Breach(harm, text))
        for register in abi.observed(architecture, Saved.CALLEE, Saved.RESERVED):
            was_held = self._held(register.name)
            if register.name == architecture.stack_pointer:
                was_held += architecture.popped_at_return
            if self._read(register.name) != was_held:
                found.append(Breach(Harm.REGISTER, f"it does not restore {register.name}"))
        return tuple(found)
