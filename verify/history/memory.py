"""The memory that a call meets, and what of it is its own to write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verify import qemu
from verify.arch.kerneldata import CLOCK_MODE_BYTES, INSIDE

if TYPE_CHECKING:
    import random

    from verify.history.model import Program, Step

STATE = "the state"
BUFFER = "the buffer"
DATA_PAGE = "the data page"
STACK = "the stack"

IMAGE = {64: 0x0100_0000_0000, 32: 0x0800_0000}
"""Where images are loaded, by pointer width: the address 0 of the first."""
SPACING = 0x10_0000
"""From one image to the next."""
STACK_POINTER = {64: 0x0C00_0000_0000, 32: 0xC000_0000}
"""At the entry of a call, without the return address."""
STACK_DEPTH = 2048
STACK_ABOVE = 512

MARGIN = 64
"""So many bytes on either side of what a call may write are looked at."""

READY_OFFSET = 8
"""Of is_ready in the data page; generation is at 0 (Linux `include/vdso/datapage.h`)."""
DATA_BYTES = 64
"""As much of the data page, and of the page in front of it, is looked at."""
_CLOCK_MODES = 4
"""Values of clock_mode outside of a time namespace, from 0."""


@dataclass(frozen=True)
class Arena:
    """Mapped memory: its first address and its contents; `owned` are the offsets of the first byte
    that a call may write, and of the first behind those."""

    address: int
    data: bytes
    owned: tuple[int, int] = (0, 0)

    @property
    def content(self) -> bytes:
        """What the call may write."""
        return self.data[slice(*self.owned)]

    def with_bytes(self, address: int, new: bytes) -> Arena:
        """The same with other bytes at an address, as far as they lie in it."""
        first = max(address, self.address)
        last = min(address + len(new), self.address + len(self.data))
        if first >= last:
            return self
        at = first - self.address
        part = new[first - address : last - address]
        return replace(self, data=self.data[:at] + part + self.data[at + len(part) :])

    def with_owned(self, last: int) -> Arena:
        """The same where what lies below the offset `last` may be written."""
        return replace(self, owned=(0, last))

    def foreign(self, was: Arena) -> int | None:
        """Where, from what is owned, the first byte lies that is not and has changed; or None."""
        first, last = self.owned
        if was.data[:first] == self.data[:first] and was.data[last:] == self.data[last:]:
            return None
        pairs = zip(was.data, self.data, strict=True)
        changed = (offset for offset, (one, other) in enumerate(pairs) if one != other)
        return next(offset for offset in changed if not first <= offset < last) - first


type Memory = dict[str, Arena]


def data_page(program: Program, base: int, *, inside: bool) -> int:
    """The address of the generator's data of an image at `base`, outside or inside a time
    namespace."""
    namespace = program.layout.namespace
    if inside and namespace is not None:
        return base - namespace.data_page
    return base - program.data_page


def surrounded(address: int, content: bytes, values: random.Random) -> Arena:
    """Contents with random bytes around them."""
    before, behind = values.randbytes(MARGIN), values.randbytes(MARGIN)
    owned = (MARGIN, MARGIN + len(content))
    return Arena(address - MARGIN, before + content + behind, owned)


def memory_of(
    program: Program, base: int, step: Step, state: bytes, values: random.Random
) -> Memory:
    """What a call meets, except for its return address."""
    page = data_page(program, base, inside=step.inside)
    memory = {
        DATA_PAGE: Arena(page, bytes(values.randbytes(DATA_BYTES))),
        **_namespace(program, base, step, values),
        STACK: Arena(
            STACK_POINTER[program.architecture.bits] - STACK_DEPTH,
            values.randbytes(STACK_DEPTH + STACK_ABOVE),
        ),
        STATE: surrounded(step.call.opaque_state, state, values),
    }
    if step.buffer:
        memory[BUFFER] = surrounded(step.call.buffer, step.buffer, values)
    return memory


def _namespace(program: Program, base: int, step: Step, values: random.Random) -> Memory:
    """What else there is where code may look for the kernel's data: the page of a time namespace,
    which has nothing in the place of the generator's data, and clock_mode. Outside of one nothing
    is in the other place; the kernel would stop who reads there."""
    namespace = program.layout.namespace
    if namespace is None:
        front = data_page(program, base, inside=False) - program.page_bytes
        return {"the page in front": Arena(front, bytes(DATA_BYTES))}
    mode = INSIDE if step.inside else values.randrange(_CLOCK_MODES)
    content = mode.to_bytes(CLOCK_MODE_BYTES, program.architecture.byte_order)
    other = data_page(program, base, inside=not step.inside)
    return {
        "clock_mode": Arena(base - namespace.clock_mode, content),
        "the page of a time namespace": Arena(other, bytes(DATA_BYTES)),
    }


def page_content(program: Program, step: Step) -> bytes:
    """The beginning of the data page."""
    return step.generation.to_bytes(8, program.architecture.byte_order) + bytes((step.is_ready,))


def return_address(program: Program) -> bytes:
    """What a caller leaves at the stack pointer."""
    machine = qemu.machine_of(program.architecture.name)
    order = program.architecture.byte_order
    return machine.space.returned.to_bytes(8, order)[: program.architecture.popped_at_return]
