"""The stack pointer, and what lies below and above it.

What lies below, but for the red zone, a signal handler may overwrite between any two instructions:
where the pointer has been above bytes of the stack they are not known any more until they are
written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from verify.arch import Architecture
from verify.getrandom.claims import Claim
from verify.getrandom.walk.setting import Setting, memory_of
from verify.lift.machine import Machine, Unsupported
from verify.lift.memory import STACK, Access
from verify.terms import Linear, Term, linear

_BOTH = frozenset({Claim.ABI, Claim.FOOTPRINT})

type Breach = tuple[int, frozenset[Claim], str]
"""The address of an instruction, the properties that it breaks, and how."""


def breaches(setting: Setting, before: Machine, machine: Machine) -> Iterator[Breach]:
    """What is not shown to be allowed of what the last block did to stack pointer and stack.

    What it has given up of the stack is noted in the memory. Raises Unsupported where the pointer
    does not move by constants, and for a read of what a signal handler may have overwritten.
    """
    architecture, memory = setting.architecture, memory_of(machine)
    accesses = [one for one in machine.accesses if one.place and one.place.region == STACK]
    moves = _moves(setting, machine)
    if not accesses and not moves:
        return
    value = setting.read(before, architecture.stack_pointer)
    frame = _frame(setting, value, before.instruction)
    given_up = set(memory.given_up)
    for step in sorted({*moves, *(one.step for one in accesses)}):
        at, moved = moves.get(step, (0, frame))
        for access in (one for one in accesses if one.step == step):
            # What an instruction stores while it moves the pointer is there afterwards.
            own = min(frame, moved) if access.kind == "write" else frame
            for claims, what in _out_of_frame(access, own, architecture):
                yield access.instruction, claims, what
            _use(access, given_up)
        if step in moves:
            frame, top = moved, moved - architecture.red_zone
            if top > architecture.popped_at_return:
                yield at, frozenset({Claim.ABI}), "moves the stack pointer above its caller's"
            given_up.update(_known_below(setting, machine, top))
    memory.given_up = frozenset(given_up)


def _moves(setting: Setting, machine: Machine) -> Mapping[int, tuple[int, int]]:
    """By step, the instruction that has moved the stack pointer, and where to, from where it was at
    entry."""
    register = setting.architecture.register(setting.architecture.stack_pointer)
    offset, size = setting.engine.layout.registers[register.storage]
    found = {}
    for write in machine.register_writes:
        if write.offset < offset + size and offset < write.offset + write.value.width // 8:
            if (write.offset, write.value.width) != (offset, 8 * size):
                raise Unsupported(write.instruction, "writes a part of the stack pointer")
            frame = _frame(setting, write.value, write.instruction)
            found[write.step] = write.instruction, frame
    return found


def _frame(setting: Setting, pointer: Term, at: int) -> int:
    """A stack pointer, from where it was at entry."""
    frame = linear(pointer).plus(linear(setting.argument("sp")), -1)
    if not frame.is_constant:
        raise Unsupported(at, "the stack pointer does not move by constants")
    return frame.constant


def _use(access: Access, given_up: set[int]) -> None:
    """Let bytes that are written be known again; raises Unsupported for a read of any that are
    not."""
    assert access.place is not None
    touched = range(access.place.offset, access.place.offset + access.size)
    if access.kind == "write":
        given_up.difference_update(touched)
    elif not given_up.isdisjoint(touched):
        raise Unsupported(
            access.instruction, "reads of the stack what a signal handler may have overwritten"
        )


def _known_below(setting: Setting, machine: Machine, top: int) -> Iterator[int]:
    """The bytes of the stack below that of which it is known what they hold."""
    for offset, size, _ in memory_of(machine).region(STACK, Linear(setting.bits, 0)):
        yield from range(offset, min(offset + size, top))


def _out_of_frame(
    access: Access, frame: int, architecture: Architecture
) -> Iterator[tuple[frozenset[Claim], str]]:
    """What is wrong with an access to the stack when the stack pointer is `frame` bytes from where
    it was at entry: it lies below what is the function's own, or above."""
    assert access.place is not None
    first, last = access.place.offset, access.place.offset + access.size
    if first < frame - architecture.red_zone:
        # A signal handler may have written there.
        if access.kind == "read":
            raise Unsupported(access.instruction, "reads the stack below its frame")
        yield _BOTH, "writes the stack below its frame"
    linkage = architecture.linkage_area
    if last <= 0 or any(at <= first and last <= at + size for at, size in linkage):
        return
    if access.kind == "write":
        yield _BOTH, "writes to its caller's frame"
    elif first < 0 or last > architecture.popped_at_return:
        yield frozenset({Claim.FOOTPRINT}), "reads its caller's frame"
