"""Targets of hand-made words, and lifters with a fault put in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from verify.arch import Architecture, by_name
from verify.batch import targets_in
from verify.lift.angr_import import import_angr
from verify.lift.engine import CodeReader, Engine
from verify.lift.select import engine_for
from verify.target import CodeSegment, Function, Target

BINARIES = Path(__file__).resolve().parents[2] / "binaries"
ADDRESS = 0x1000
RETURN = {
    "loongarch64": 0x4C000020,
    "powerpc": 0x4E800020,
    "powerpc64": 0x4E800020,
    "powerpc64le": 0x4E800020,
}

import_angr()


def target_of(architecture: str, *words: int) -> Target:
    """A function that is these words and a few returns."""
    returns = [RETURN[architecture]] * 4
    order = by_name(architecture).byte_order
    code = b"".join(word.to_bytes(4, order) for word in (*words, *returns))
    return Target(
        "words",
        "",
        ("words",),
        "",
        "",
        by_name(architecture),
        (CodeSegment(ADDRESS, code, True),),
        Function("words", ADDRESS, len(code), "made for a test"),
    )


def own_target(name: str) -> Target:
    """The function in one of the project's own binaries."""
    (target,) = targets_in(str(BINARIES / name), None)
    assert isinstance(target, Target)
    return target


def stock(architecture: Architecture, code: CodeReader) -> Engine:
    """The engine without this project's own semantics."""
    engine: Any = engine_for(architecture, code)
    if architecture.lifter.engine == "vex":
        engine._added, engine._operations, engine._helpers = (), {}, {}
        engine._alignment = engine._ignored = None
    else:
        engine._replacements, engine._undecoded = {}, ()
    faulty: Engine = engine
    return faulty


def with_fault(fault: Callable[[Any], None]) -> Callable[[Architecture, CodeReader], Engine]:
    """A lifter whose successors of every instruction `fault` changes; it is given the list."""

    def lifter(architecture: Architecture, code: CodeReader) -> Engine:
        engine: Any = engine_for(architecture, code)
        run = engine.run

        def faulty(block: Any, machine: Any) -> Any:
            successors = run(block, machine)
            fault(successors)
            return successors

        engine.run = faulty
        changed: Engine = engine
        return changed

    return lifter
