"""Straight-line code, executed symbolically from the state at a function's entry."""

from __future__ import annotations

from collections.abc import Sequence

from verify.arch import Architecture, by_name
from verify.lift.angr_import import import_angr
from verify.target import CodeSegment, Function, Target
from verify.terms import Term

import_angr()

from verify.lift.engine import Engine  # noqa: E402
from verify.lift.machine import Machine  # noqa: E402
from verify.lift.select import engine_for  # noqa: E402
from verify.prove.setting import Variables, entry_machine, register_value  # noqa: E402

ENTRY = 0x400


def target_of(
    architecture: Architecture, words: Sequence[int], constants: bytes = b"", at: int = 0x2000
) -> Target:
    """A function that is these instructions of four bytes, with constants elsewhere."""
    code = b"".join(word.to_bytes(4, architecture.instruction_order) for word in words)
    segments = (CodeSegment(ENTRY, code, True), CodeSegment(at, constants, False))
    function = Function("words", ENTRY, len(code), "written here")
    return Target("words", "", ("words",), "", "", architecture, segments, function)


def start(
    architecture: Architecture | str, words: Sequence[int], constants: bytes = b""
) -> tuple[Engine, Machine]:
    """An engine over the instructions, and the machine at the first."""
    if isinstance(architecture, str):
        architecture = by_name(architecture)
    target = target_of(architecture, words, constants)
    engine = engine_for(architecture, target.code)
    return engine, entry_machine(target, engine, Variables(architecture.bits))


def run(
    architecture: Architecture | str, words: Sequence[int], constants: bytes = b""
) -> tuple[Machine, dict[str, Term]]:
    """The machine behind the instructions, none of which branches, and its registers by name."""
    if isinstance(architecture, str):
        architecture = by_name(architecture)
    engine, machine = start(architecture, words, constants)
    pc = ENTRY
    while pc < ENTRY + 4 * len(words):
        block = engine.lift(pc, len(words) - (pc - ENTRY) // 4)
        (successor,) = engine.run(block, machine)
        machine = successor.machine
        pc += block.size
    return machine, {
        register.name: register_value(machine, engine, architecture, register.name)
        for register in architecture.registers
        if register.storage in engine.layout.registers
    }
