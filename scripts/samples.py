"""Writes what `prove` prints, on a good and on a faulty binary, into README.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.readme import replace_section

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = {
    "proof": "prove binaries/loongarch64/looped.so",
    "refutation": "prove --property output binaries/faults/powerpc64le/wrong-rotation.so",
    "residue": "prove --property secrecy binaries/faults/loongarch64/few-bits-left.so",
}


def printed(arguments: str) -> str:
    """The command and what it prints, as an indented block."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-m", "verify", *arguments.split()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1) or done.stderr:
        raise RuntimeError(done.stderr or f"exit code {done.returncode}")
    lines = [f"$ vdso-verify {arguments}", *done.stdout.rstrip().splitlines()]
    return "\n".join(f"    {line}".rstrip() for line in lines)


if __name__ == "__main__":
    for name, arguments in SAMPLES.items():
        replace_section(name, printed(arguments))
