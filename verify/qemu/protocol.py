"""What is said to the runner and what it answers: see binaries/runner/runner.c for the format."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.qemu.machines import PROGRAM_COUNTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verify.qemu.machines import AddressSpace, Machine

PAGE = 0x4000
"""Code and data are mapped in whole pages of this size; no architecture here has larger ones."""

MAX_RANGES = 64


class QemuError(Exception):
    """QEMU or the runner could not do what was asked; the message is one line."""


@dataclass(frozen=True)
class Case:
    """A state to start from. Every integer is unsigned.

    `registers`: initial values by name (see `verify.qemu.machines`). The register of the return
    address, where there is one, holds the machine's unless given; all others not given are zero.
    The program counter is not among them.
    `memory`: (address, bytes) to write first. The pages of `memory` and `observe` are readable and
    writable and otherwise zero; nothing else but the code is mapped.
    `observe`: (address, size) of the memory to report at the end.
    `entry`: where this case enters the code, None for the entry point of the batch.
    """

    registers: Mapping[str, int]
    memory: tuple[tuple[int, bytes], ...] = ()
    observe: tuple[tuple[int, int], ...] = ()
    entry: int | None = None


@dataclass(frozen=True)
class Outcome:
    """The state at the end. Every integer is unsigned.

    `registers`: all registers by name, and "pc", which is the return address after a return.
    `memory`: one byte string for each range observed.
    `signal`: None when the code returned, else the number of the Linux signal that stopped it;
    SIGALRM when it ran out of time. Then "pc" is the address of the instruction.
    `fault_address`: the address that the signal reports: the access of a SIGSEGV or SIGBUS (on some
    machines only its page, see `Machine.fault_bytes`), the instruction of a SIGILL or SIGTRAP. None
    where it reports none.
    """

    registers: Mapping[str, int]
    memory: tuple[bytes, ...]
    signal: int | None
    fault_address: int | None


SIGALRM = 14


def pages(space: AddressSpace, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The whole pages that the (address, size) ranges touch, as disjoint (start, end), ascending.

    Raises QemuError for a range that cannot be mapped in the address space.
    """
    (lowest, highest), (low, high) = space.usable, space.emulator
    found: list[tuple[int, int]] = []
    for address, size in sorted(ranges):
        start, end = address // PAGE * PAGE, -(-(address + size) // PAGE) * PAGE
        if size <= 0:
            continue
        if not lowest <= address <= end <= highest or (start < high and low < end):
            raise QemuError(f"cannot map {size} bytes at {address:#x} under QEMU")
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _word(machine: Machine, *values: int) -> bytes:
    return struct.pack(f"{machine.order}{len(values)}Q", *values)


def _count(machine: Machine, ranges: Sequence[object]) -> bytes:
    if len(ranges) > MAX_RANGES:
        raise QemuError(
            f"{len(ranges)} memory ranges in one case, at most {MAX_RANGES} are possible"
        )
    return _word(machine, len(ranges))


def _context(machine: Machine, entry: int, registers: Mapping[str, int]) -> bytes:
    if PROGRAM_COUNTER in registers:
        raise QemuError(f"{PROGRAM_COUNTER} is set by the entry point, not by a case")
    values = {**registers, PROGRAM_COUNTER: entry}
    if machine.return_address is not None:
        values.setdefault(machine.return_address, machine.space.returned)
    try:
        return machine.pack(values)
    except ValueError as error:
        raise QemuError(str(error)) from None


def _case(machine: Machine, entry: int, code: Sequence[tuple[int, int]], case: Case) -> bytes:
    contents = [(address, len(data)) for address, data in case.memory]
    data_pages = pages(machine.space, [*contents, *case.observe])
    for start, end in data_pages:
        if any(start < code_end and code_start < end for code_start, code_end in code):
            raise QemuError(f"data at {start:#x} would share a page with code")
    return b"".join(
        (
            _context(machine, entry if case.entry is None else case.entry, case.registers),
            _count(machine, data_pages),
            *(_word(machine, start, end - start) for start, end in data_pages),
            _count(machine, case.memory),
            *(_word(machine, address, len(data)) + data for address, data in case.memory),
            _count(machine, case.observe),
            *(_word(machine, address, size) for address, size in case.observe),
        )
    )


def encode(
    machine: Machine,
    code: Sequence[tuple[int, bytes]],
    entry: int,
    cases: Sequence[Case],
    timeout: float,
) -> bytes:
    """The request for a batch: code blobs as (address, bytes), entry point, cases, seconds a case.

    Raises QemuError when something cannot be mapped or a register does not exist.
    """
    code_pages = pages(machine.space, ((address, len(data)) for address, data in code))
    request = [_count(machine, code_pages)]
    for start, end in code_pages:
        image = bytearray(end - start)
        for address, data in code:
            if start <= address < end:
                image[address - start : address - start + len(data)] = data
        request += (_word(machine, start, end - start), bytes(image))
    request.append(_word(machine, max(1, round(timeout * 1_000_000)), len(cases)))
    request += (_case(machine, entry, code_pages, case) for case in cases)
    return b"".join(request)


def _outcome(machine: Machine, case: Case, answer: bytes, offset: int) -> tuple[Outcome, int]:
    signal, fault_address = struct.unpack_from(f"{machine.order}2Q", answer, offset)
    offset += 16
    registers = machine.unpack(answer, offset)
    offset += machine.size
    memory = []
    for _, size in case.observe:
        memory.append(answer[offset : offset + size])
        offset += size
    has_address = signal not in {0, SIGALRM} and fault_address != machine.no_address
    outcome = Outcome(
        registers, tuple(memory), signal or None, fault_address if has_address else None
    )
    return outcome, offset


def decode(machine: Machine, cases: Sequence[Case], answer: bytes) -> list[Outcome]:
    """The outcomes of a batch from the runner's answer; raises QemuError if it is not complete."""
    outcomes = []
    offset = 0
    for case in cases:
        outcome, offset = _outcome(machine, case, answer, offset)
        outcomes.append(outcome)
    if offset != len(answer):
        raise QemuError(f"the runner answered {len(answer)} bytes instead of {offset}")
    return outcomes
