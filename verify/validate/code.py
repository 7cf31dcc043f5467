"""The code that QEMU and the engine see: every instruction by itself, traps all around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from verify.lift.machine import Unsupported
from verify.qemu import PAGE
from verify.validate.reading import Reading

START = 0x2000_0000
"""Where the code lies; branches of all formats lead from here to addresses above zero."""

_STRIDE = 32
"""Twice as many bytes as the longest instruction of any architecture has, and room for a trap."""

_ROOM = 0x0100_0000
"""What is kept free behind START for instructions that can lie anywhere."""


class Misplaced(Unsupported):
    """The instruction can be put nowhere so that executing it ends, and that what it accesses is no
    code."""


class Code:
    """Instructions at addresses of their own, so that whatever follows one of them are traps.

    A direct branch may lead to a trap or to where nothing is mapped, and never to another of
    the instructions: either way QEMU stops at its target. An instruction that accesses memory at a
    fixed distance has pages of its own, so that the access falls into a page without code.
    """

    def __init__(self, trap: bytes) -> None:
        self._trap = trap
        self._bytes = bytearray()
        self._apart: dict[int, bytes] = {}
        """Pages with one instruction each, by address."""
        self._data: set[int] = set()
        """Pages that these access."""
        self._used: set[int] = set()
        self._targets: set[int] = set()
        self._next = START

    def read(self, address: int, size: int) -> bytes | None:
        """The bytes at an address, None outside the code."""
        page = address // PAGE * PAGE
        start, code = (page, self._apart[page]) if page in self._apart else (START, self._bytes)
        offset = address - start
        if not 0 <= offset <= len(code) - size:
            return None
        return bytes(code[offset : offset + size])

    def blobs(self, addresses: Iterable[int]) -> list[tuple[int, bytes]]:
        """Address and bytes of the code that the instructions at these addresses need."""
        pages = {address // PAGE * PAGE for address in addresses}
        apart = [(page, code) for page, code in self._apart.items() if page in pages]
        return [(START, bytes(self._bytes)), *apart]

    def place(self, instruction: bytes, read_at: Callable[[int], Reading]) -> Reading:
        """Put an instruction where it can be executed, and read it at that address.

        Raises Misplaced where it branches to or into itself, and what `read_at` raises.
        """
        traps = self._trap * (len(instruction) // len(self._trap))
        while True:
            address = self._next
            self._next += _STRIDE
            self._bytes += self._trap * (_STRIDE // len(self._trap))
            mine = range(address, address + len(instruction))
            if self._targets.intersection(mine):
                continue
            self._put(address, instruction)
            try:
                reading = read_at(address)
                targets = {path.target.value for path in reading.paths if not path.faults}
                if targets.intersection(mine):
                    raise Misplaced(address, "it branches to itself")
            except Unsupported:
                self._put(address, traps)
                raise
            if targets & self._used:
                self._put(address, traps)
                continue
            self._used.update(mine)
            self._targets.update(target for target in targets if target is not None)
            return reading

    def _put(self, address: int, code: bytes) -> None:
        offset = address - START
        self._bytes[offset : offset + len(code)] = code

    def is_code(self, address: int, size: int) -> bool:
        """Whether some of these bytes lie where code is, or may come to lie."""
        return any(
            START <= page < START + _ROOM or page in self._apart for page in _pages(address, size)
        )

    def keep(self, address: int, size: int) -> None:
        """Put no code on the pages of these bytes, which are data."""
        self._data.update(_pages(address, size))

    def place_apart(
        self, instruction: bytes, read_at: Callable[[int], Reading], distance: int, size: int
    ) -> Reading:
        """Put an instruction at the edge of a page of its own, for the sake of an access to `size`
        bytes at a fixed distance from its address, and read it there.

        Raises Misplaced where the access would fall onto that page, or onto two.
        """
        code = instruction + self._trap
        # At the start or at the end of the page, so that the access is aligned to its size.
        first = 0 if distance < 0 else PAGE - len(code)
        shift = (first + distance) % size
        offset = first + (size - shift) % size if distance < 0 else first - shift
        offset -= offset % len(self._trap)
        page = START + _ROOM
        taken = self._apart.keys() | self._data
        while page in taken or self.is_code(page + offset + distance, size):
            page += PAGE
        accessed = _pages(page + offset + distance, size)
        if page in accessed or len(accessed) > 1:
            raise Misplaced(page + offset, "it accesses memory too close to itself")
        self._apart[page] = self._trap * (offset // len(self._trap)) + code
        self.keep(page + offset + distance, size)
        return read_at(page + offset)


def _pages(address: int, size: int) -> range:
    """The addresses of the pages of some bytes."""
    return range(address // PAGE * PAGE, address + size, PAGE)
