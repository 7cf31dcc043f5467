"""Instructions that overwrite what may hold a secret for good."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from verify.arch import Register, Saved
from verify.lift.memory import STACK
from verify.prove.secrets import secret_terms, secret_variables
from verify.prove.segments import Segment, Segments
from verify.terms import Term

_JUDGED = (Saved.CALLER, Saved.CALLEE)


def wiped(segments: Segments) -> Mapping[int, tuple[str, ...]]:
    """For each instruction the registers and bytes of the stack that held a secret before it, and
    hold from there to the return what depends on none."""
    secret = secret_variables(segments)
    exits = segments.exits
    values = [value for segment in exits for value in _values(segments, segment)]
    dirty = secret_terms(values, secret)
    found: dict[int, dict[str, None]] = {}
    for segment in exits:
        for instruction, name in _of_exit(segments, segment, dirty):
            found.setdefault(instruction, {})[name] = None
    return {instruction: tuple(names) for instruction, names in found.items()}


def _values(segments: Segments, segment: Segment) -> Iterable[Term]:
    yield from (write.value for write in segment.machine.register_writes)
    yield from (access.value for access in segment.accesses if access.kind == "write")
    yield from (value for _, _, value in _at_begin(segments, segment))


def _at_begin(segments: Segments, segment: Segment) -> Iterable[tuple[int, int, Term]]:
    """(offset, size, value) of the register file at the head of the block loop."""
    if segment.begin == "loop" and segments.loop is not None:
        start = segments.loop.start
        for offset, size, value in start.registers:
            yield offset, size, start.converter.term(value)


def _of_exit(segments: Segments, segment: Segment, dirty: set[Term]) -> Iterable[tuple[int, str]]:
    held: dict[int, bool] = {}
    for offset, size, value in _at_begin(segments, segment):
        held |= dict.fromkeys(range(offset, offset + size), value in dirty)
    last: dict[int, tuple[int, bool]] = {}
    for write in segment.machine.register_writes:
        is_dirty = write.value in dirty
        for byte in range(write.offset, write.offset + write.value.width // 8):
            wipes = held.get(byte, False) and not is_dirty
            last[byte] = (write.instruction, wipes)
            held[byte] = is_dirty
    for register in segments.target.architecture.registers:
        yield from _of_register(segments, register, last)
    yield from _of_stack(segment, dirty)


def _of_register(
    segments: Segments, register: Register, last: Mapping[int, tuple[int, bool]]
) -> Iterable[tuple[int, str]]:
    if register.saved not in _JUDGED:
        return
    offset, size = segments.engine.layout.registers[register.storage]
    if register.bits is not None:
        high, low = (bit // 8 for bit in register.bits)
        offset += low if segments.engine.layout.little else size - high - 1
        size = high - low + 1
    for instruction in dict.fromkeys(
        last[byte][0] for byte in range(offset, offset + size) if byte in last and last[byte][1]
    ):
        yield instruction, register.name


def _of_stack(segment: Segment, dirty: set[Term]) -> Iterable[tuple[int, str]]:
    held: dict[int, bool] = {}
    last: dict[int, tuple[int, bool]] = {}
    for access in segment.accesses:
        place = access.place
        if access.kind != "write" or place is None or place.region != STACK:
            continue
        is_dirty = access.value in dirty
        for byte in range(place.offset, place.offset + access.size):
            last[byte] = (access.instruction, held.get(byte, False) and not is_dirty)
            held[byte] = is_dirty
    for instruction in dict.fromkeys(instruction for instruction, wipes in last.values() if wipes):
        yield instruction, "stack"
