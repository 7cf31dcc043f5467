"""The code that QEMU and the engine see: every instruction by itself, traps all around it."""

from __future__ import annotations

from verify.lift.engine import Block, Engine
from verify.lift.machine import Unsupported

START = 0x2000_0000
"""Where the code lies; branches of all formats lead from here to addresses above zero."""

_STRIDE = 32
"""Twice as many bytes as the longest instruction of any architecture has, and room for a trap."""


class BranchToItself(Unsupported):
    """The instruction branches to its own address, so that executing it has no end."""


class Code:
    """Instructions at addresses of their own, so that whatever follows one of them are traps.

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

    def place(self, engine: Engine, instruction: bytes) -> Block:
        """Put an instruction where it can be executed, and lift it; raises Unsupported."""
        while True:
            address = self._next
            self._next += _STRIDE
            self._bytes += bytes(_STRIDE)
            self._fill(address - START, _STRIDE)
            offset = address - START
            if address in self._targets:
                continue
            self._bytes[offset : offset + len(instruction)] = instruction
            try:
                block = engine.lift(address, 1)
                targets = set(engine.targets(block))
                if address in targets:
                    raise BranchToItself(address, "it branches to itself")
            except Unsupported:
                self._fill(offset, len(instruction))
                raise
            if targets & self._used:
                self._fill(offset, len(instruction))
                continue
            self._used.add(address)
            self._targets |= targets
            return block

    def _fill(self, offset: int, size: int) -> None:
        """Put traps there."""
        self._bytes[offset : offset + size] = self._trap * (size // len(self._trap))
