"""Counterexamples of the project's faults, and their C programs, compiled and run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.proving import proved, target_of
from verify.counterexample import Counterexample
from verify.evidence.contexts import CONTEXTS
from verify.evidence.selftest import selftest
from verify.qemu import machine_of
from verify.target import Target
from verify.verdict import Result

FLAGS = {"loongarch64": ("-mcpu=baseline-lsx",)}
"""What the compiler needs for code that every emulator runs."""


@cache
def result_of(fault: str) -> Result:
    """The result of the fault, an architecture and a name."""
    return proved(f"faults/{fault}.so")


def counterexample_of(fault: str, property_id: str) -> Counterexample:
    """The counterexample of a property that the fault breaks."""
    (found,) = (
        one.counterexample for one in result_of(fault).properties if one.property == property_id
    )
    assert found is not None
    return found


@dataclass(frozen=True)
class Ran:
    """What a compiled program said, and its exit status."""

    code: int
    output: str


def compiled(target: Target, source: str, path: Path) -> None:
    """Compile a C program for the architecture of the target, without a warning."""
    path.with_suffix(".c").write_text(source)
    context = CONTEXTS[target.architecture.name]
    done = subprocess.run(
        (
            *(sys.executable, "-m", "ziglang", "cc", "-target", context.triple),
            *(*FLAGS.get(target.architecture.name, ()), "-static", "-O1", "-Wall", "-Wextra"),
            *("-Werror", str(path.with_suffix(".c")), "-o", str(path)),
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def ran(target: Target, counterexample: Counterexample, path: Path) -> Ran:
    """The program for a counterexample on the bytes of a target, compiled and run."""
    compiled(target, selftest(target, counterexample), path)
    emulator = shutil.which(machine_of(target.architecture.name).emulator)
    assert emulator is not None
    done = subprocess.run((emulator, str(path)), capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout)


__all__ = ["Ran", "compiled", "counterexample_of", "ran", "result_of", "target_of"]
