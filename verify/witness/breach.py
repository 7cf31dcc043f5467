"""What an execution shows to be broken, property by property."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from specs import chacha20
from specs.contract import BLOCK_BYTES
from verify.arch import Saved
from verify.qemu.machines import PROGRAM_COUNTER
from verify.witness import registers as abi
from verify.witness.placement import STACK, relative

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.arch import Architecture
    from verify.witness.execution import Execution
    from verify.witness.inputs import Inputs
    from verify.witness.placement import Arena

WORD_BYTES = 4
SHOWN_BYTES = 16
"""Of a longer run of bytes, no more than these are printed."""


@dataclass(frozen=True)
class Breach:
    """A property of the contract that is broken, seen by executing the real bytes.

    `property` is its id, `kind` the same text for two breaches that are the same fault, `what` one
    line of English, `expected` and `actual` are texts (words and bytes in hexadecimal).
    `instruction` is the address in the image of the instruction that was seen doing it, None where
    only the state at the return shows it. `block` and `word` tell which word of the output is
    wrong. `other` is the call that `inputs` is compared with, where the breach is a difference
    between two.
    """

    property: str
    kind: str
    what: str
    expected: str
    actual: str
    inputs: Inputs
    instruction: int | None = None
    block: int | None = None
    word: int | None = None
    other: Inputs | None = None


def shown(data: bytes) -> str:
    """Bytes as text, in the order of their addresses."""
    text = data[:SHOWN_BYTES].hex(" ")
    return f"{text} and {len(data) - SHOWN_BYTES} more" if len(data) > SHOWN_BYTES else text


def plural(count: int, noun: str) -> str:
    """A number of things as text."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def named(one: bytes, two: bytes, calls: tuple[Inputs, Inputs], architecture: Architecture) -> str:
    """What bytes are that differ between two calls: a word of the key, or something else."""
    if calls[0].key == calls[1].key:
        return "bytes that depend on registers which may hold anything at entry"
    words = zip(calls[0].key, calls[1].key, strict=True)
    for number, values in enumerate(words):
        first, second = (word.to_bytes(WORD_BYTES, architecture.byte_order) for word in values)
        if first in one and second in two:
            return f"key word {number}"
    return "bytes that depend on the key"


def first_run(one: bytes, two: bytes) -> tuple[int, int] | None:
    """First and last index, plus one, of the first bytes in a row at which the two differ."""
    if one == two:
        return None
    differ = (index for index, (a, b) in enumerate(zip(one, two, strict=True)) if a != b)
    start = end = next(differ)
    for index in differ:
        if index != end + 1:
            break
        end = index
    return start, end + 1


@lru_cache(maxsize=1024)
def _expected_output(key: tuple[int, ...], counter: int, nblocks: int) -> bytes:
    return chacha20.stream(key, counter, nblocks)


def _output(execution: Execution) -> Iterator[Breach]:
    inputs = execution.inputs
    expected = _expected_output(inputs.key, inputs.counter, inputs.nblocks)
    actual = execution.memory("dst", 0, len(expected))
    differ = first_run(expected, actual)
    if differ is None:
        return
    at = differ[0] // WORD_BYTES * WORD_BYTES
    block, rest = divmod(at, BLOCK_BYTES)
    wanted, got = (
        int.from_bytes(data[at : at + WORD_BYTES], "little") for data in (expected, actual)
    )
    word = rest // WORD_BYTES
    yield Breach(
        "output",
        "a word of the output",
        f"word {word} of block {block} is wrong",
        f"{wanted:#010x}",
        f"{got:#010x}",
        inputs,
        block=block,
        word=word,
    )


def _counter(execution: Execution) -> Iterator[Breach]:
    inputs = execution.inputs
    data = execution.memory("counter", 0, 2 * WORD_BYTES)
    order = execution.target.architecture.byte_order
    low, high = (int.from_bytes(data[at : at + WORD_BYTES], order) for at in (0, WORD_BYTES))
    actual = high << 32 | low
    expected = (inputs.counter + inputs.nblocks) % 2**64
    if actual != expected:
        yield Breach(
            "counter",
            "the counter",
            f"the counter after {plural(inputs.nblocks, 'block')} is wrong",
            f"{expected:#018x}",
            f"{actual:#018x}",
            inputs,
        )


def _changed(execution: Execution, arena: Arena, was: bytes, now: bytes) -> Iterator[Breach]:
    kept = bytearray(now)
    for address, size in arena.writable:
        at = address - arena.address
        kept[at : at + size] = was[at : at + size]
    run = first_run(was, bytes(kept))
    if run is None:
        return
    first, last = run
    for broken in ("footprint", "stack") if arena.name == STACK else ("footprint",):
        yield Breach(
            broken,
            "changed bytes",
            f"changes {plural(last - first, 'byte')} at "
            f"{execution.placement.describe(arena.address + first)}",
            f"{shown(was[first:last])}, as before the call",
            shown(now[first:last]),
            execution.inputs,
        )


def _footprint(execution: Execution) -> Iterator[Breach]:
    arenas = execution.placement.arenas
    for arena, was, now in zip(arenas, execution.start.memory, execution.end.memory, strict=True):
        yield from _changed(execution, arena, was, now)


def _residue(execution: Execution, twin: Execution) -> Iterator[Breach]:
    """What the function may write on the stack and differs from the call with another key."""
    number = next(n for n, arena in enumerate(execution.placement.arenas) if arena.name == STACK)
    stack = execution.placement.arenas[number]
    for address, size in stack.writable:
        start = address - stack.address
        one, two = (end.end.memory[number][start : start + size] for end in (execution, twin))
        run = first_run(one, two)
        if run is None:
            continue
        at = run[0] // WORD_BYTES * WORD_BYTES
        left, right = (data[at : at + WORD_BYTES] for data in (one, two))
        what = named(left, right, (execution.inputs, twin.inputs), execution.target.architecture)
        yield Breach(
            "stack",
            "left on the stack",
            f"leaves {what} at {relative('sp', address + at - stack.start)}",
            "the same bytes for every key",
            f"{shown(left)}, with another key {shown(right)}",
            execution.inputs,
            other=twin.inputs,
        )
        return


def _registers(execution: Execution) -> Iterator[Breach]:
    architecture = execution.target.architecture
    for register in abi.observed(architecture, Saved.CALLEE, Saved.RESERVED):
        before = execution.initial_register(register.name)
        after = execution.register(register.name)
        if register.name == architecture.stack_pointer:
            before += architecture.popped_at_return
        if before == after:
            continue
        if register.name == architecture.stack_pointer:
            what = f"the stack pointer {register.name} is not restored"
        elif register.saved is Saved.RESERVED:
            what = f"the reserved register {register.name} is changed"
        else:
            what = f"the callee-saved register {register.name} is not restored"
        yield Breach("abi", register.name, what, f"{before:#x}", f"{after:#x}", execution.inputs)


def _end(execution: Execution) -> Iterator[Breach]:
    """Why the function did not return."""
    assert execution.signal is not None
    name = signal.Signals(execution.signal).name
    instruction: int | None = execution.pc
    what, broken = "does not return", "abi"
    if execution.signal == signal.SIGALRM:
        broken = "termination"
        actual = f"still running after {execution.seconds:g} s, at {instruction:#x}"
    elif execution.outside_image:
        what = "does not return to its caller"
        elsewhere = execution.end.registers[PROGRAM_COUNTER]
        actual, instruction = f"goes to {elsewhere:#x}, where the image has no code", None
    elif execution.fault_address is not None and name in {"SIGSEGV", "SIGBUS"}:
        yield Breach(
            "footprint",
            "an access that faults",
            f"accesses {execution.placement.describe(execution.fault_address)}",
            "accesses to dst, key, counter, its frame and constants only",
            f"{name} at {instruction:#x}",
            execution.inputs,
            instruction,
        )
        return
    else:
        actual = f"stopped by {name} at {instruction:#x}"
    expected = "a return to the caller"
    yield Breach(broken, what, what, expected, actual, execution.inputs, instruction)


def breaches(execution: Execution, twin: Execution | None = None) -> tuple[Breach, ...]:
    """Every property that this call visibly broke, in the order output, counter, footprint, stack,
    abi, termination.

    `twin` is the same call with another key (`other_key`): what is on the function's part of
    the stack at the return and differs between the two is key material left there. Without it,
    nothing is said of that part. What is undone before the return does not show:
    `verify.witness.confirm` is for that. An inconclusive execution breaks nothing.
    """
    if execution.inconclusive:
        return ()
    if not execution.returned:
        return (*_footprint(execution), *_end(execution))
    compared = twin is not None and twin.returned
    return (
        *_output(execution),
        *_counter(execution),
        *_footprint(execution),
        *(_residue(execution, twin) if twin is not None and compared else ()),
        *_registers(execution),
    )
