"""Where the stack pointer is while a segment runs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from verify.lift.memory import STACK, Access, Place
from verify.prove.segments import Segment, Segments
from verify.terms import Term, linear


def stack_pointers(segments: Segments, segment: Segment) -> Callable[[Access], Term]:
    """The stack pointer when an access is made; of another width where only a part of the register
    was written.

    That is the one before the instruction, or for a store the one behind it where that is lower: an
    instruction that stores and moves the stack pointer does both before a signal can arrive.
    """
    changes = _changes(segments, segment)

    def before(step: int) -> Term:
        return next(value for since, value in reversed(changes) if since < step)

    def at(access: Access) -> Term:
        pointer = before(access.step)
        if access.kind == "read":
            return pointer
        behind = before(access.step + 1)
        moved = _distance(behind, pointer)
        return behind if moved is not None and moved < 0 else pointer

    return at


def _changes(segments: Segments, segment: Segment) -> list[tuple[int, Term]]:
    """What the stack pointer is from which step on, the first of them in front of the segment."""
    architecture = segments.target.architecture
    storage = architecture.register(architecture.stack_pointer).storage
    offset, size = segments.engine.layout.registers[storage]
    start = segments.names.address("sp")
    if segment.begin == "loop":
        assert segments.loop is not None
        machine = segments.loop.start
        start = machine.converter.term(machine.registers.read(offset, size))
    return [(-1, start)] + [
        (write.step, write.value)
        for write in segment.machine.register_writes
        if write.offset < offset + size and offset < write.offset + write.value.width // 8
    ]


def unprotected(segments: Segments) -> tuple[str, ...]:
    """Why a signal handler is not shown to leave alone what the function and its caller have on
    the stack: it may overwrite whatever lies below the stack pointer and the red zone.

    It does if the pointer is lowered, and then raised, and never above where the return leaves it
    by more than the red zone; what is read while it is raised is not looked at here. It may be
    lowered again where nothing that the function has stored there is ever read.
    """
    architecture = segments.target.architecture
    highest = architecture.popped_at_return + architecture.red_zone
    reasons = []
    for segment in segments:
        pointers = [value for _, value in _changes(segments, segment)]
        distances = [_distance(value, segments.names.address("sp")) for value in pointers]
        known = [distance for distance in distances if distance is not None]
        raised = [n for n, (a, b) in enumerate(pairwise(known)) if a < b]
        lowered = [n for n, (a, b) in enumerate(pairwise(known)) if a > b]
        if len(known) < len(distances) > 1:
            reasons.append("the stack pointer does not move by constants")
        elif max(known, default=0) > highest:
            reasons.append("the stack pointer is above its caller's")
        elif (
            raised
            and (segment.end == "loop" or max(lowered, default=-1) > raised[0])
            and _reads_its_stack(segments)
        ):
            reasons.append("the stack pointer is raised, and may be lowered again")
    return tuple(dict.fromkeys(reasons))


def _reads_its_stack(segments: Segments) -> bool:
    """Whether the function may read anything below the stack pointer at entry."""
    return any(
        access.kind == "read"
        and (
            access.place is None
            or (access.place.region == STACK and not _is_its_callers(access.place))
        )
        for segment in segments
        for access in segment.accesses
    )


def _is_its_callers(place: Place) -> bool:
    return place.index.is_constant and place.offset >= 0


def stack_offsets(segments: Segments, segment: Segment) -> Callable[[Access], int | None]:
    """The offset in bytes of the stack pointer of `stack_pointers` from its value at entry.

    None where the stack pointer is not its entry value plus a constant.
    """
    pointer = segments.names.address("sp")
    pointer_at = stack_pointers(segments, segment)
    return lambda access: _distance(pointer_at(access), pointer)


def _distance(pointer: Term, other: Term) -> int | None:
    """How many bytes one stack pointer is above another; None where that is not a constant."""
    if pointer.width != other.width:
        return None
    distance = linear(pointer).plus(linear(other), -1)
    return distance.constant if distance.is_constant else None


def lowest_pointer(segments: Segments) -> int | None:
    """The lowest stack pointer that the function has, in bytes from its value at entry; None where
    it is not always a constant distance from there."""
    architecture = segments.target.architecture
    storage = architecture.register(architecture.stack_pointer).storage
    offset, size = segments.engine.layout.registers[storage]
    distances = {
        _distance(write.value, segments.names.address("sp"))
        for segment in segments
        for write in segment.machine.register_writes
        if write.offset < offset + size and offset < write.offset + write.value.width // 8
    }
    known = [0, *(distance for distance in distances if distance is not None)]
    return None if None in distances else min(known)
