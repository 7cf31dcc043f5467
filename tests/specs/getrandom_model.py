"""Another description of the vDSO's getrandom: a state's life as segments of key streams.

It shares nothing with the specification but the numbers of the interface. A state is the bytes that
are still to be given out, a key, and the generation; a call goes along one key stream, which
PyCryptodome computes.
"""

import struct
from dataclasses import dataclass, field
from typing import Protocol

from Crypto.Cipher import ChaCha20


class Kernel(Protocol):
    """Reads of the data page, and the system call: its result and what it wrote."""

    def is_ready(self) -> int: ...

    def generation(self) -> int: ...

    def answer(self, buffer: int, length: int, flags: int) -> tuple[int, bytes]: ...


@dataclass
class Seen:
    """What a call returned, did to the first bytes of its buffer, and asked the kernel."""

    result: int = 0
    buffer: bytes = b""
    calls: list[tuple[int, int, int]] = field(default_factory=list)
    parameters: bytes | None = None


def over(buffer: bytes, start: bytes) -> bytes:
    return start + buffer[len(start) :]


@dataclass
class Life:
    """A state since its page was new. `window` is how many bytes of buffers are looked at."""

    bits: int
    big_endian: bool
    page: int
    window: int
    unused: bytes = bytes(96)
    key: bytes = bytes(32)
    born: int = 0
    busy: bool = False

    def memory(self) -> bytes:
        used = 96 - len(self.unused)
        order = ">" if self.big_endian else "<"
        tail = struct.pack(f"{order}QBB6x", self.born, used, self.busy)
        return bytes(used) + self.unused + self.key + tail

    def stream(self, start: int, stop: int) -> bytes:
        key = self.key
        if self.big_endian:
            key = struct.pack("<8I", *struct.unpack(">8I", key))
        cipher = ChaCha20.new(key=key, nonce=bytes(8))
        cipher.seek(start)
        return cipher.encrypt(bytes(stop - start))

    def call(self, arguments: tuple[int, int, int, int, int], kernel: Kernel) -> Seen:
        buffer, length, flags, where, size = arguments
        seen = Seen(buffer=bytes(self.window))
        if (buffer, length, flags, size) == (0, 0, 0, 2**self.bits - 1):
            order = ">" if self.big_endian else "<"
            seen.parameters = struct.pack(f"{order}3I52x", 144, 3, 0x28)
            return seen
        if where // self.page != (where + 143) // self.page:
            seen.result = -14
            return seen

        def ask(*what: int) -> tuple[int, bytes]:
            seen.calls.append((what[0], what[1], what[2]))
            return kernel.answer(what[0], what[1], what[2])

        def leave_to_kernel() -> Seen:
            seen.result, written = ask(buffer, length, flags)
            seen.buffer = over(seen.buffer, written[: self.window])
            return seen

        if flags >= 8 or size != 144 or not kernel.is_ready():
            return leave_to_kernel()
        if length == 0:
            return seen
        if self.busy:
            return leave_to_kernel()
        wanted = min(length, 2**31 - self.page)
        at = 0
        for _ in "12":
            if (current := kernel.generation()) != self.born:
                result, written = ask(where + 96, 32, 0)
                self.key = over(self.key, written)
                self.born = current
                if result != 32:
                    self.born = 0
                    return leave_to_kernel()
                self.unused = b""
            at = self.give(wanted, at, seen)
            if kernel.generation() == self.born:
                seen.result = wanted
                return seen
        return leave_to_kernel()

    def give(self, wanted: int, at: int, seen: Seen) -> int:
        """Give out bytes. The key stream of this call is used up to `at`; return the new end."""
        head, self.unused = self.unused[:wanted], self.unused[wanted:]
        missing = wanted - len(head)
        visible = max(0, min(missing, self.window - len(head)))
        given = head[: self.window] + self.stream(at, at + visible)
        seen.buffer = over(seen.buffer, given)
        if not missing:
            return at
        end = at + missing // 64 * 64 + 128
        rest = self.stream(at + missing, end)
        self.unused, self.key = rest[:-32], rest[-32:]
        return end
