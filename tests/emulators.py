"""Which of the project's binaries an emulator can be too old for."""

from __future__ import annotations

from binaries.patches import Fault, load
from tests.proving import BINARIES
from verify import qemu

EXTENDED = {"loongarch64/lsx", "loongarch64/lsx_unrolled"}
"""The programs with vectors of 128 bits."""

_FAULTS = {f"faults/{fault.architecture}/{fault.name}": fault for fault in load(BINARIES)}


def too_old(binary: object) -> str:
    """Why the emulator cannot run a program, or a fault of it, and how to get another; one line.

    The binary is a fault or a path; empty for whatever is neither, and for what can be run.
    """
    if isinstance(binary, str):
        path = binary.removeprefix("binaries/").removesuffix(".so").removesuffix(".stripped")
        binary = _FAULTS.get(path, path)
    program = binary.program if isinstance(binary, Fault) else binary
    if not isinstance(program, str) or program not in EXTENDED:
        return ""
    return qemu.lacking(program.split("/", maxsplit=1)[0])
