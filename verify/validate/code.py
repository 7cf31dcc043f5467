"""The code that QEMU and the engine see: every instruction by itself, traps all around it."""

from __future__ import annotations

from verify.lift.engine import Block, Engine
from verify.lift.machine import Unsupported

START = 0x2000_0000
"""Where the code lies; branches of all formats lead from here to addresses above zero."""

INSTRUCTION_BYTES = 4
_STRIDE = 4 * INSTRUCTION_BYTES


class BranchToItself(Unsupported):
    """The instruction branches to its own address, so that executing it has no end."""


class Code:
    """Instructions at addresses of their own, so that whatever follows one of them is a trap.

    A direct branch may lead to a trap or to where nothing is mapped, and never to another of
    the instructions: either way QEMU stops at its target.
    """

    def __init__(self, trap: bytes) -> None:
        self._trap = trap
        self._bytes = bytearray()
        self._used: set[int] = set()
        self._targets: set[int] = set()
        self._next = START

    def read(self, address: int, size: int) -> bytes | None:
        """The bytes at an address, None outside the code."""
        offset = address - START
        if not 0 <= offset <= len(self._bytes) - size:
            return None
        return bytes(self._bytes[offset : offset + size])

    @property
    def blob(self) -> tuple[int, bytes]:
        """Address and bytes of all of the code."""
        return START, bytes(self._bytes)

    def place(self, engine: Engine, word: bytes) -> Block:
        """Put an instruction where it can be executed, and lift it; raises Unsupported."""
        while True:
            address = self._next
            self._next += _STRIDE
            self._bytes += self._trap * (_STRIDE // len(self._trap))
            if address in self._targets:
                continue
            offset = address - START
            self._bytes[offset : offset + len(word)] = word
            try:
                block = engine.lift(address, 1)
                targets = set(engine.targets(block))
                if address in targets:
                    raise BranchToItself(address, "it branches to itself")
            except Unsupported:
                self._bytes[offset : offset + len(word)] = self._trap
                raise
            if targets & self._used:
                self._bytes[offset : offset + len(word)] = self._trap
                continue
            self._used.add(address)
            self._targets |= targets
            return block
