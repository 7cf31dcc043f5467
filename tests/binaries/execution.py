"""Calls a ChaCha20 function of binaries/ under QEMU and says what it did wrong, if anything."""

from __future__ import annotations

import random
import signal
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from specs import chacha20
from verify import qemu

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

ROOT = Path(__file__).resolve().parents[2]
FUNCTION = "__arch_chacha20_blocks_nostack"

CODE = 0x40_0000
DST = 0x100_0100
KEY = 0x200_0040
COUNTER = 0x300_0020
STACK = 0x7FF_8000
GUARD = 64
BELOW_STACK = 1024
ABOVE_STACK = 512

# "ELF for the LoongArch Architecture psABI", "Register Convention"; "64-Bit ELF V2 ABI
# Specification: Power Architecture", 2.2.2.1 (cr2 to cr4 of the condition register).
PRESERVED = {
    "loongarch64": (
        *("ra", "tp", "sp", "r21", "fp"),
        *(f"s{n}" for n in range(9)),
        *(f"fs{n}" for n in range(8)),
    ),
    "powerpc64le": (
        *("r1", "r2", "r13", "lr"),
        *(f"r{n}" for n in range(14, 32)),
        *(f"f{n}" for n in range(14, 32)),
        *(f"v{n}" for n in range(20, 32)),
    ),
}
PRESERVED_CONDITION = 0x00FFF000
ARGUMENTS = {
    "loongarch64": ("a0", "a1", "a2", "a3"),
    "powerpc64le": ("r3", "r4", "r5", "r6"),
}
STACK_POINTER = {"loongarch64": "sp", "powerpc64le": "r1"}
# The deepest that a good program goes below the entry stack pointer: its frame, or the red zone.
DEEPEST = {"loongarch64": 96, "powerpc64le": 288}


@dataclass(frozen=True)
class Call:
    """One call; in place, the key is the 32 bytes from dst + 96 on, as in the caller's state."""

    key: tuple[int, ...]
    counter: int
    nblocks: int
    in_place: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Done:
    """A call and what QEMU saw at its end."""

    arch: str
    call: Call
    initial: qemu.Case
    outcome: qemu.Outcome


def architecture(path: Path) -> str:
    """The architecture of a binary of the project, which the name of its directory tells."""
    return path.parent.name


def function(
    path: Path, name: str = FUNCTION, table_name: str = ".symtab"
) -> tuple[tuple[int, bytes], int]:
    """The code blob of a shared object, loaded at CODE, and the entry of a function in it."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        (segment,) = (s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD")
        table = elf.get_section_by_name(table_name)
        assert isinstance(table, SymbolTableSection)
        symbols = table.get_symbol_by_name(name)
        assert symbols, path
        return (CODE + segment["p_vaddr"], segment.data()), CODE + symbols[0]["st_value"]


def _registers(arch: str, call: Call, key_address: int) -> dict[str, int]:
    values = random.Random(f"registers {call.seed}")
    registers = {
        name: values.getrandbits(place.bits)
        for name, place in qemu.MACHINES[arch].places.items()
        if name not in {"pc", "zero", "fcsr", "xer"}
    }
    arguments = (DST, key_address, COUNTER, call.nblocks)
    registers.update(zip(ARGUMENTS[arch], arguments, strict=True))
    registers[STACK_POINTER[arch]] = STACK
    registers[qemu.MACHINES[arch].return_address] = qemu.RETURN_ADDRESS
    return registers


def case(arch: str, call: Call) -> qemu.Case:
    """The initial state of a call: random registers, random bytes in and around every region."""
    values = random.Random(f"memory {call.seed}")
    output = bytearray(values.randbytes(GUARD + 64 * call.nblocks + GUARD))
    stack = values.randbytes(BELOW_STACK + ABOVE_STACK)
    around_counter = values.randbytes(GUARD), values.randbytes(GUARD)
    key = b"".join(word.to_bytes(4, "little") for word in call.key)
    key_address = DST + 96 if call.in_place else KEY
    if call.in_place:
        output[GUARD + 96 : GUARD + 96 + len(key)] = key
    counter = around_counter[0] + call.counter.to_bytes(8, "little") + around_counter[1]
    memory = (
        (DST - GUARD, bytes(output)),
        (KEY, key),
        (COUNTER - GUARD, counter),
        (STACK - BELOW_STACK, stack),
    )
    return qemu.Case(
        registers=_registers(arch, call, key_address),
        memory=memory,
        observe=tuple((address, len(data)) for address, data in memory),
    )


def execute(path: Path, calls: Sequence[Call], *, timeout: float = 10) -> list[Done]:
    """Run the calls on the real bytes of a binary."""
    arch = architecture(path)
    code, entry = function(path)
    cases = [case(arch, call) for call in calls]
    outcomes = qemu.run(arch, [code], entry, cases, timeout=timeout)
    return [
        Done(arch, call, initial, outcome)
        for call, initial, outcome in zip(calls, cases, outcomes, strict=True)
    ]


def executed_path(
    path: Path, call: Call, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    """The addresses of the translation blocks that QEMU executes for a call, the runner's too."""
    log = scratch / "qemu.log"
    monkeypatch.setenv("QEMU_LOG", "exec,nochain")
    monkeypatch.setenv("QEMU_LOG_FILENAME", str(log))
    execute(path, [call])
    traced = [line for line in log.read_text().splitlines() if line.startswith("Trace")]
    assert traced, "QEMU logged nothing"
    return [int(line.split("[")[1].split("/")[1], 16) for line in traced]


@cache
def expected_output(call: Call) -> bytes:
    """The bytes that the specification gives for a call."""
    return chacha20.stream(call.key, call.counter, call.nblocks)


def _wrong_registers(done: Done) -> bool:
    before, after = done.initial.registers, done.outcome.registers
    if any(before[name] != after[name] for name in PRESERVED[done.arch]):
        return True
    return (before.get("cr", 0) ^ after.get("cr", 0)) & PRESERVED_CONDITION != 0


def _wrong_stack(done: Done) -> bool:
    before, after = done.initial.memory[3][1], done.outcome.memory[3]
    own = BELOW_STACK - DEEPEST[done.arch]
    changed = [n for n in range(own) if before[n] != after[n]]
    words = {after[n : n + 4] for n in range(0, BELOW_STACK, 4)}
    return bool(changed) or any(word.to_bytes(4, "little") in words for word in done.call.key)


def breaches(done: Done) -> set[str]:
    """The properties that the call visibly broke."""
    if done.outcome.signal == signal.SIGALRM:
        return {"termination"}
    output, key, counter, stack = done.outcome.memory
    found = set()
    if done.outcome.signal is not None or _wrong_registers(done):
        found.add("abi")
    if output[GUARD:-GUARD] != expected_output(done.call):
        found.add("output")
    after = (done.call.counter + done.call.nblocks) % 2**64
    if counter[GUARD:-GUARD] != after.to_bytes(8, "little"):
        found.add("counter")
    untouched = (
        (output, done.initial.memory[0][1], (slice(None, GUARD), slice(-GUARD, None))),
        (key, done.initial.memory[1][1], (slice(None),)),
        (counter, done.initial.memory[2][1], (slice(None, GUARD), slice(-GUARD, None))),
        (stack, done.initial.memory[3][1], (slice(BELOW_STACK, None),)),
    )
    if any(now[part] != was[part] for now, was, parts in untouched for part in parts):
        found.add("footprint")
    if _wrong_stack(done):
        found.add("stack")
    return found


def unpreserved(done: Done) -> dict[str, int]:
    """The registers at the end that the ABI does not make the function preserve."""
    return {
        name: value
        for name, value in done.outcome.registers.items()
        if name not in PRESERVED[done.arch]
    }


def random_calls(seed: str, count: int, *, in_place: bool = False) -> list[Call]:
    """Calls with random keys, 1 to 8 blocks, and counters around the wraps of both words."""
    values = random.Random(seed)
    calls = []
    for n in range(count):
        wrap = values.choice((0, 2**32, 2**64, values.getrandbits(64)))
        calls.append(
            Call(
                key=tuple(values.getrandbits(32) for _ in range(8)),
                counter=(wrap - values.randrange(9)) % 2**64,
                nblocks=2 if in_place else n % 8 + 1,
                in_place=in_place,
                seed=n,
            )
        )
    return calls
