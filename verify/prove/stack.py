"""Where the stack pointer is while a segment runs."""

from __future__ import annotations

from collections.abc import Callable

from verify.prove.segments import Segment, Segments
from verify.terms import linear


def stack_offsets(segments: Segments, segment: Segment) -> Callable[[int], int | None]:
    """The offset in bytes of the stack pointer from its value at entry, before a given step.

    None where the stack pointer is not its entry value plus a constant.
    """
    architecture = segments.target.architecture
    pointer = segments.names.address("sp")
    storage = architecture.register(architecture.stack_pointer).storage
    offset, size = segments.engine.layout.registers[storage]
    start = pointer
    if segment.begin == "loop":
        assert segments.loop is not None
        machine = segments.loop.start
        start = machine.converter.term(machine.registers.read(offset, size))
    changes = [(-1, start)] + [
        (write.step, write.value)
        for write in segment.machine.register_writes
        if write.offset < offset + size and offset < write.offset + write.value.width // 8
    ]

    def at(step: int) -> int | None:
        value = next(value for since, value in reversed(changes) if since < step)
        if value.width != pointer.width:
            return None
        distance = linear(value).plus(linear(pointer), -1)
        return distance.constant if distance.is_constant else None

    return at
