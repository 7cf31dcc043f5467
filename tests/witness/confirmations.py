"""The faults that take more than the state at the return to confirm, and how it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.witness.programs import MACHINES, address_of
from verify.target import Target
from verify.witness import (
    Breach,
    Inputs,
    confirm_access,
    confirm_register_write,
    confirm_stack_write,
)

type Confirm = Callable[[Target, Inputs], Breach | None]

LOONG, POWER = MACHINES["loongarch64"], MACHINES["powerpc64le"]
# Registers that the programs use beyond those of the small programs.
LOONG_A4, LOONG_S3, LOONG_FP = 8, 26, 22
POWER_R8, POWER_R14, POWER_R23, POWER_R26 = 8, 14, 23, 26


def _loong_store(double: bool, register: int, offset: int) -> int:
    opcode = 0x29C00000 if double else 0x29800000
    return opcode | (offset & 0xFFF) << 10 | LOONG.registers["sp"] << 5 | register


def _power_store(double: bool, register: int, offset: int) -> int:
    return (62 if double else 36) << 26 | register << 21 | 1 << 16 | offset & 0xFFFF


def _stack(instruction: int, offset: int, size: int) -> Confirm:
    def confirm(target: Target, inputs: Inputs) -> Breach | None:
        return confirm_stack_write(target, inputs, address_of(target, instruction), offset, size)

    return confirm


def _register(instruction: int, register: str) -> Confirm:
    def confirm(target: Target, inputs: Inputs) -> Breach | None:
        return confirm_register_write(target, inputs, address_of(target, instruction), register)

    return confirm


def _past_key(target: Target, inputs: Inputs) -> Breach | None:
    return confirm_access(target, inputs, "key", 32)


@dataclass(frozen=True)
class Confirmation:
    """How a fault is confirmed, the property that it breaks, and what the breach says.

    `at_return` tells whether the state at the return shows it as well.
    """

    architecture: str
    fault: str
    property: str
    confirm: Confirm
    what: str
    at_return: bool = False


BELOW = "below what the ABI protects at that moment"
BEHIND = "has another value right behind the instruction"
STALE = "bytes that depend on registers which may hold anything at entry"

# Offsets are from sp at entry; the frames have 96 bytes (loongarch64/looped), 32 (unrolled) and
# 128 (powerpc64le/unrolled).
CONFIRMATIONS = (
    Confirmation("loongarch64", "read-past-key", "footprint", _past_key, "accesses key + 32"),
    Confirmation("powerpc64le", "read-past-key", "footprint", _past_key, "accesses key + 32"),
    Confirmation("s390x", "read-past-key", "footprint", _past_key, "accesses the page of key + 32"),
    Confirmation(
        "loongarch64",
        "reserved-register-used",
        "abi",
        _register(LOONG.zero("reserved"), "r21"),
        f"the reserved register r21 {BEHIND}",
    ),
    Confirmation(
        "powerpc64le",
        "reserved-register-used",
        "abi",
        _register(POWER.zero("reserved"), "r13"),
        f"the reserved register r13 {BEHIND}",
    ),
    Confirmation(
        "loongarch64",
        "store-below-stack",
        "stack",
        _stack(_loong_store(True, LOONG.registers["counter"], -8), -104, 8),
        f"writes 8 bytes at sp - 104, {BELOW}",
    ),
    Confirmation(
        "powerpc64le",
        "store-below-stack",
        "stack",
        _stack(_power_store(True, POWER_R14, -304), -304, 8),
        f"writes 8 bytes at sp - 304, {BELOW}",
    ),
    Confirmation(
        "loongarch64",
        "saves-before-frame",
        "stack",
        _stack(_loong_store(True, LOONG.registers["saved"], -32), -32, 8),
        f"writes 8 bytes at sp - 32, {BELOW}",
    ),
    Confirmation(
        "loongarch64",
        "stale-register-on-stack",
        "stack",
        _stack(_loong_store(True, LOONG_A4, 0), -96, 8),
        f"writes {STALE} at sp - 96",
    ),
    Confirmation(
        "powerpc64le",
        "stale-register-on-stack",
        "stack",
        _stack(_power_store(True, POWER_R8, -152), -152, 8),
        f"writes {STALE} at sp - 152",
    ),
    Confirmation(
        "loongarch64",
        "key-word-spilled",
        "stack",
        _stack(_loong_store(True, LOONG_S3, 0), -96, 8),
        "writes key word 2 at sp - 96",
    ),
    Confirmation(
        "powerpc64le",
        "key-word-spilled",
        "stack",
        _stack(_power_store(False, POWER_R14, 24), -104, 4),
        "writes key word 0 at sp - 104",
    ),
    Confirmation(
        "loongarch64",
        "key-word-on-stack",
        "stack",
        _stack(_loong_store(False, LOONG_S3, 0), -96, 4),
        "writes key word 2 at sp - 96",
        at_return=True,
    ),
    Confirmation(
        "powerpc64le",
        "key-word-on-stack",
        "stack",
        _stack(_power_store(False, POWER_R26, -152), -152, 4),
        "writes key word 2 at sp - 152",
        at_return=True,
    ),
    Confirmation(
        "loongarch64",
        "state-word-on-stack",
        "stack",
        _stack(_loong_store(False, LOONG_FP, 4), -92, 4),
        "writes bytes that depend on the key at sp - 92",
        at_return=True,
    ),
    Confirmation(
        "powerpc64le",
        "state-word-on-stack",
        "stack",
        _stack(_power_store(False, POWER_R23, -152), -152, 4),
        "writes bytes that depend on the key at sp - 152",
        at_return=True,
    ),
)
