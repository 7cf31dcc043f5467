"""Confirm what a proof says of one instruction, by executing the real bytes up to it."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify import qemu
from verify.witness.breach import Breach, named, plural, shown
from verify.witness.execution import begin, other_registers, run_on
from verify.witness.inputs import other_key
from verify.witness.placement import STACK, Edge, relative
from verify.witness.steps import step, steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.target import Target
    from verify.witness.inputs import Inputs
    from verify.witness.steps import Step

PASSES = 3
"""How often an instruction in a loop is looked at."""

OTHER_KEYS = 3
"""With how many other keys a store is compared."""

LONGEST_ACCESS = 64
"""Bytes that one instruction accesses at most."""


@dataclass(frozen=True)
class StackStore:
    """A store to the stack that was executed. Offsets are in bytes from sp at entry.

    `value` are the bytes written, in the order of their addresses, `others` the same call with
    other keys, or other values in registers that may hold anything at entry, and what that writes.
    `lowest_allowed` is where the red zone below the stack pointer
    of the moment begins: the lower one of those before and behind the instruction, as the one that
    moves it may write what it allocates.
    """

    offset: int
    value: bytes
    others: tuple[tuple[Inputs, bytes], ...]
    lowest_allowed: int

    @property
    def different(self) -> tuple[Inputs, bytes] | None:
        """Another of the calls that writes something else, and what; None if there is none."""
        return next((other for other in self.others if other[1] != self.value), None)


def _written(done: list[Step], address: int, offset: int, size: int) -> list[bytes | None]:
    """What each step wrote at the offset; None where it left a byte alone.

    A byte is written if it is the same afterwards, whatever it was before.
    """
    inverted = [
        one.before.with_memory(
            STACK, offset, bytes(0xFF ^ byte for byte in one.before.memory(STACK, offset, size))
        )
        for one in done
    ]
    values: list[bytes | None] = []
    for one, again in zip(done, step(inverted, address), strict=True):
        value = one.after.memory(STACK, offset, size)
        same = again is not None and again.memory(STACK, offset, size) == value
        values.append(value if same else None)
    return values


def stack_stores(
    target: Target,
    inputs: Inputs,
    address: int,
    offset: int,
    size: int,
    passes: int = PASSES,
    others: Sequence[Inputs] = (),
) -> Iterator[StackStore]:
    """What the instruction at `address` writes to all `size` bytes at sp at entry + `offset`, for
    each of the first `passes` times that it does.

    It is compared with the calls in `others`; without any, with some that differ in the key and one
    that differs in the registers that may hold anything at entry.

    Raises QemuError as `execute` does, LookupError for an offset too far from the stack pointer.
    """
    if not others:
        keys = (other_key(inputs, number) for number in range(OTHER_KEYS))
        others = (*keys, other_registers(target, inputs))
    for done in steps(target, [inputs, *others], address, passes):
        if done[0].before.inputs != inputs:
            return
        value, *rest = _written(done, address, offset, size)
        if value is None:
            continue
        lowest = min(done[0].before.stack_pointer, done[0].after.stack_pointer)
        entry = done[0].before.placement.addresses[STACK]
        yield StackStore(
            offset,
            value,
            tuple(
                (one.before.inputs, written)
                for one, written in zip(done[1:], rest, strict=True)
                if written is not None
            ),
            lowest - target.architecture.red_zone - entry,
        )


def confirm_stack_write(
    target: Target,
    inputs: Inputs,
    address: int,
    offset: int,
    size: int,
    passes: int = PASSES,
    others: Sequence[Inputs] = (),
) -> Breach | None:
    """The breach of `stack` that a store is: `size` bytes at `offset` from sp at entry, written by
    the instruction at `address`.

    It is one if those bytes are outside the function's part of the stack at that moment, or if
    they depend on the key or on registers that may hold anything at entry, as `others` or what
    `stack_stores` takes for them shows. None for a store that
    is neither, or that is not executed in the first `passes` passes. Raises as `stack_stores`
    does.
    """
    place = relative("sp", offset)
    written = f"{plural(size, 'byte')} at {place}"
    slots = target.architecture.linkage_area
    for store in stack_stores(target, inputs, address, offset, size, passes, others):
        value = shown(store.value)
        in_slot = any(at <= offset and offset + size <= at + length for at, length in slots)
        if offset + size > 0 and not in_slot:
            what, expected = f"writes {written}, in the caller's frame", "writes below sp only"
            return Breach("stack", "a store above sp", what, expected, value, inputs, address)
        if offset < store.lowest_allowed:
            lowest = relative("sp", store.lowest_allowed)
            what = f"writes {written}, below what the ABI protects at that moment"
            expected = f"no write below {lowest}"
            return Breach("stack", "a store below sp", what, expected, value, inputs, address)
        if store.different:
            call, other = store.different
            what = named(store.value, other, (inputs, call), target.architecture)
            return Breach(
                "stack",
                "a store of a value that depends on the call",
                f"writes {what} at {place}",
                "callee-saved registers and public values only",
                f"{value}, in another call {shown(other)}",
                inputs,
                address,
                other=call,
            )
    return None


def confirm_register_write(
    target: Target, inputs: Inputs, address: int, register: str, passes: int = PASSES
) -> Breach | None:
    """The breach of `abi` that the instruction at `address` is if it changes a reserved register.

    A signal handler that runs right behind the instruction (or right before it, when it restores
    the register) finds another value than at entry. None if it does not in the first `passes`
    passes. Raises QemuError as `execute` does, KeyError for a register that QEMU does not show.
    """
    for (one,) in steps(target, [inputs], address, passes):
        entry = one.before.initial_register(register)
        before, after = one.before.register(register), one.after.register(register)
        if before == after:
            continue
        where, seen = ("behind", after) if after != entry else ("before", before)
        return Breach(
            "abi",
            register,
            f"the reserved register {register} has another value right {where} the instruction",
            f"{entry:#x}",
            f"{seen:#x}",
            inputs,
            address,
        )
    return None


def confirm_access(target: Target, inputs: Inputs, region: str, offset: int) -> Breach | None:
    """The breach of `footprint` that an access outside a region is, `offset` bytes from its start.

    `region` is dst, key or counter, and `offset` outside it, or stack, and `offset` (from sp at
    entry) not negative. The byte there, and all on its far side, are put on a page that is not
    mapped, so that a read shows as well as a write. The breach names the instruction that is seen
    to access it first. Raises QemuError as `execute` does, ValueError for an offset inside the
    region or too far away.
    """
    start = begin(target, inputs, Edge(region, offset))
    (done,) = run_on([start], target.function.address)
    if done.signal != signal.SIGSEGV or done.fault_address is None:
        return None
    first = done.fault_address - start.placement.addresses[region]
    unit = qemu.machine_of(target.architecture.name).fault_bytes
    accessed = offset if first <= offset < first + unit else first
    slots = target.architecture.linkage_area if region == STACK else ()
    if abs(accessed - offset) >= LONGEST_ACCESS or any(
        at < first + unit and first < at + length for at, length in slots
    ):
        return None
    where = relative("sp" if region == STACK else region, accessed)
    return Breach(
        "footprint",
        "an access at the edge",
        f"accesses {where}" if unit == 1 else f"accesses the page of {where}",
        "accesses to dst, key, counter, its frame and constants only",
        f"SIGSEGV at {done.pc:#x} when nothing is mapped there",
        inputs,
        done.pc,
    )
