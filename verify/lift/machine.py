"""The state of one symbolic path and what is recorded along it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from angr import claripy

from verify.lift.cells import Cells
from verify.lift.convert import Converter
from verify.lift.memory import Access, RegionMemory
from verify.terms import Term, linear

UNDEFINED = "undefined@"
"""Prefix of the variables for what an instruction leaves undefined."""


class Unsupported(Exception):
    """Something the engine cannot execute faithfully: the target becomes UNKNOWN.

    `address` is that of the instruction.
    """

    def __init__(self, address: int, reason: str) -> None:
        super().__init__(f"{address:#x}: {reason}")
        self.address = address
        self.reason = reason


@dataclass(frozen=True)
class RegisterWrite:
    """One write to a register: instruction, step number, storage offset in bytes, value."""

    instruction: int
    step: int
    offset: int
    value: Term


@dataclass(frozen=True)
class SlowOperand:
    """An operand of a multiplication or division, whose time may depend on it."""

    instruction: int
    value: Term


@dataclass
class Machine:
    """Registers, memory, and the path so far: guards, accesses, register writes, steps.

    The engine changes it in place; `copy` at a fork. `pc` is the address of the next
    instruction. `steps` is the list of the addresses of the executed instructions.
    """

    registers: Cells
    memory: RegionMemory
    converter: Converter
    little: bool
    pc: int
    constants: frozenset[int] = frozenset()
    """Offsets of registers that are hard-wired to zero."""
    guards: list[Any] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)
    """The instruction of each guard."""
    slow_operands: list[SlowOperand] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    register_writes: list[RegisterWrite] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    _fresh: int = 0

    def copy(self) -> Machine:
        """An independent copy; the converter's cache is shared."""
        return Machine(
            self.registers.copy(),
            self.memory.copy(),
            self.converter,
            self.little,
            self.pc,
            self.constants,
            list(self.guards),
            list(self.branches),
            list(self.slow_operands),
            list(self.accesses),
            list(self.register_writes),
            list(self.steps),
            self._fresh,
        )

    def assume(self, guard: Any) -> None:
        """A branch of the instruction at hand is taken under this condition."""
        self.guards.append(guard)
        self.branches.append(self.instruction)

    def slow(self, operands: Iterable[Any]) -> None:
        """The instruction at hand multiplies or divides these values."""
        for operand in operands:
            term = self.converter.term(operand)
            if term.value is None:
                self.slow_operands.append(SlowOperand(self.instruction, term))

    def fingerprint(self) -> tuple[object, ...]:
        """Equal for two states of one execution that go on in the same way."""
        registers = ((offset, value.hash()) for offset, _, value in self.registers)
        memory = (
            (key, offset, value.hash())
            for key, cells in self.memory.cells().items()
            for offset, _, value in cells
        )
        return (self.pc, tuple(registers), tuple(memory))

    def begin(self, address: int) -> None:
        """The instruction at `address` starts."""
        self.steps.append(address)

    @property
    def instruction(self) -> int:
        """The address of the instruction being executed."""
        return self.steps[-1] if self.steps else self.pc

    def get(self, offset: int, size: int) -> Any:
        """A register's value: storage offset and size in bytes."""
        if offset in self.constants:
            return claripy.BVV(0, 8 * size)
        return self.converter.unfolded(self.registers.read(offset, size))

    def put(self, offset: int, value: Any) -> None:
        """Write a register; a hard-wired one stays as it is."""
        if offset in self.constants:
            return
        value, term = self.converter.bind(value)
        self.registers.write(offset, value)
        self.register_writes.append(
            RegisterWrite(self.instruction, len(self.steps) - 1, offset, term)
        )

    def undefined(self, size: int) -> Any:
        """A value of `size` bytes that the manual leaves undefined: any, and no secret."""
        return self._variable(UNDEFINED, size)

    def _unknown(self, size: int) -> Any:
        return self._variable("load@", size)

    def _variable(self, kind: str, size: int) -> Any:
        self._fresh += 1
        name = f"{kind}{self.instruction:#x}#{self._fresh}"
        return claripy.BVS(name, 8 * size, explicit_name=True)

    def _access(self, kind: Literal["read", "write"], address: Any) -> Access:
        term = self.converter.term(address)
        place = self.memory.normalise(linear(term))
        return Access(kind, self.instruction, len(self.steps) - 1, term, place, 0, term)

    def load(self, address: Any, size: int, little: bool) -> Any:
        """`size` bytes from memory as one value read in the given byte order."""
        access = self._access("read", address)
        value = self.memory.load(access.place, size, lambda: self._unknown(size))
        if little is not self.little:
            value = value.reversed
        self.accesses.append(replace(access, size=size, value=self.converter.term(value)))
        return value

    def store(self, address: Any, value: Any, little: bool) -> None:
        """Write a value to memory in the given byte order."""
        access = self._access("write", address)
        value, stored = self.converter.bind(value)
        self.accesses.append(replace(access, size=stored.width // 8, value=stored))
        if little is not self.little:
            value, _ = self.converter.bind(value.reversed)
        self.memory.store(access.place, value)
