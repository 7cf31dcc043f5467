"""A tree like a kernel's, in which the objects of the project's own programs were built."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.proving import BINARIES

ROOT = BINARIES.parent
CI_PROVE = ROOT / "scripts/ci-prove"
PLACES = {
    "loongarch64": "arch/loongarch/vdso",
    "powerpc64le": "arch/powerpc/kernel/vdso",
    "x86_64": "arch/x86/entry/vdso",
}
"""Where Linux has vgetrandom-chacha.S."""


@cache
def assembled(architecture: str) -> bytes:
    """The object of the looped program, as a kernel's build makes one."""
    assemble = [sys.executable, "-m", "ziglang", "cc", "-target", f"{architecture}-linux-gnu"]
    source = BINARIES / architecture / "looped.S"
    done = subprocess.run(
        [*assemble, "-c", "-o", "/dev/stdout", str(source)], capture_output=True, check=True
    )
    return done.stdout


def object_in(tree: Path, architecture: str, name: str = "vgetrandom-chacha.o") -> str:
    """Build the object in a tree; its path there."""
    place = tree / PLACES[architecture]
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_bytes(assembled(architecture))
    return f"{PLACES[architecture]}/{name}"


def linker_in(directory: Path) -> str:
    """A linker for all architectures."""
    linker = directory / "ld"
    linker.write_text(f'#!/bin/sh\nexec {sys.executable} -m ziglang ld.lld "$@"\n')
    linker.chmod(0o755)
    return str(linker)


def environment(**variables: str) -> dict[str, str]:
    """The variables of a job, in which this Python has the project installed."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VDSO_VERIFY", "GITHUB", "CI", "GIT_", "KBUILD", "COLUMNS"))
    }
    mine = {"VDSO_VERIFY_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    return {**kept, **mine, **variables}


def ci_prove(tree: Path, *files: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a tree."""
    return subprocess.run(
        ["/bin/sh", str(CI_PROVE), *files],
        cwd=tree,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )
