"""What the two engines have in common: lifting a block, running it, naming its successors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from verify.lift.machine import Machine, Unsupported

CodeReader = Callable[[int, int], bytes | None]
"""Address and size in bytes to the bytes there, None where no code or constants lie."""


@dataclass(frozen=True)
class Layout:
    """The lifter's register file: name to (offset, size) in bytes, byte order, hard-wired ones."""

    registers: Mapping[str, tuple[int, int]]
    little: bool
    constants: frozenset[int]

    def enclosing(self, offset: int, size: int) -> tuple[str, int, int]:
        """Name, offset and size of the largest register around the byte at `offset`.

        Raises Unsupported for an offset that belongs to no register.
        """
        best: tuple[str, int, int] | None = None
        for name, (start, length) in self.registers.items():
            covers = start <= offset < start + length
            if covers and (best is None or length > best[2]):
                best = (name, start, length)
        if best is None:
            raise Unsupported(0, f"register file offset {offset:#x}+{size} has no register")
        return best


@dataclass(frozen=True)
class Block:
    """Consecutive instructions with at most one entry: addresses, and the lifter's own form."""

    address: int
    instructions: tuple[int, ...]
    size: int
    form: Any


FAULT = "fault"
"""The kind of a successor at which the instruction stops with a fault, since it accesses memory at
an address that is not aligned as it has to be; nothing else of it is executed."""


@dataclass(frozen=True)
class Successor:
    """Where a block leads: the machine there (its pc is meaningless if `target` is symbolic),
    the target as a claripy expression, and whether it is a jump, a call, a fault or a trap."""

    machine: Machine
    target: Any
    kind: str


class Engine(Protocol):
    """One of angr's lifters with one of angr's interpreters."""

    layout: Layout

    def lift(self, address: int, limit: int | None = None) -> Block:
        """The block at `address`, of at most `limit` instructions; raises Unsupported."""

    def run(self, block: Block, machine: Machine) -> list[Successor]:
        """Execute a block; `machine` is consumed. Forks where a condition is symbolic.

        Raises Unsupported for whatever is not executed faithfully.
        """

    def targets(self, block: Block) -> tuple[int, ...]:
        """The addresses of the code that directly follows a block; a call returns behind it."""

    def disassemble(self, address: int, size: int) -> list[tuple[int, str]]:
        """(address, text) of each instruction of a range."""


def only_true(condition: Any) -> bool | None:
    """True or False where a claripy Boolean is constant, else None."""
    if condition.is_true():
        return True
    return False if condition.is_false() else None
