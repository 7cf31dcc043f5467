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


SOURCE = "arch/x86/entry/vdso/vgetrandom-chacha.S"
"""A source that was not built."""


@cache
def assembled(architecture: str) -> bytes:
    """The object of the looped program, as a kernel's build makes one."""
    assemble = [sys.executable, "-m", "ziglang", "cc", "-target", f"{architecture}-linux-gnu"]
    source = BINARIES / architecture / "looped.S"
    options = ["-g0", "-c", "-o", "/dev/stdout"]
    done = subprocess.run([*assemble, *options, str(source)], capture_output=True, check=True)
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


def fenced(text: str, language: str = "text") -> str:
    """As a block of a page."""
    return f"```{language}\n{text.rstrip()}\n```"


def samples(tree: Path) -> dict[str, str]:
    """What docs/ci.md shows, by the name of the section: two runs of the script, and the hook."""
    name = object_in(tree, "loongarch64")
    variables = {
        "VDSO_VERIFY_PROPERTIES": "counter abi",
        "VDSO_VERIFY_FORMATS": "",
        "VDSO_VERIFY_CACHE": "cache",
        "GITHUB_STEP_SUMMARY": "summary.md",
    }
    ci_prove(tree, name, **variables)
    summary = (tree / "summary.md").read_text()
    again = ci_prove(tree, name, **variables)
    cached = [line for line in again.stdout.splitlines() if line.startswith("from the")]
    hook = subprocess.run(
        ["/bin/sh", str(CI_PROVE.with_name("pre-commit-prove")), SOURCE],
        cwd=tree,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "summary": fenced(summary, "markdown"),
        "cached": fenced("\n".join(cached)),
        "hook": fenced(hook.stderr),
    }
