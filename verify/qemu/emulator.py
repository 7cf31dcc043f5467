"""Start QEMU with the runner."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from verify.qemu.machines import MACHINES
from verify.qemu.protocol import QemuError, decode, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.qemu.machines import Machine
    from verify.qemu.protocol import Case, Outcome

RUNNERS = Path(__file__).resolve().parent / "runners"

ADDRESS_SPACE = 0x1000_0000_0000
"""The guest's addresses are reserved up to here, so that none of them is one of QEMU's own, where
QEMU can do that (`Machine.reserved`)."""

GRACE_SECONDS = 20.0
"""What starting, reading the request and writing the answer may take beyond the cases."""

EXIT_REASONS = {
    2: "the request ended too early or has too many ranges",
    3: "an address range could not be mapped",
    4: "a signal hit the runner itself",
}


def machine_of(arch: str) -> Machine:
    """The registers and the emulator of an architecture; raises QemuError without a runner."""
    if arch not in MACHINES:
        raise QemuError(
            f"no runner for architecture {arch}; there is one for {', '.join(MACHINES)}"
        )
    return MACHINES[arch]


def _emulator(machine: Machine) -> str | None:
    return shutil.which(machine.emulator) or shutil.which(f"{machine.emulator}-static")


@cache
def available(arch: str) -> str | None:
    """The version line of the QEMU that emulates `arch` in user mode, or None if there is none.

    Raises QemuError for an architecture without a runner.
    """
    emulator = _emulator(machine_of(arch))
    if emulator is None:
        return None
    shown = subprocess.run((emulator, "--version"), capture_output=True, text=True, check=False)
    return shown.stdout.splitlines()[0] if shown.returncode == 0 and shown.stdout else None


def install_hint(arch: str) -> str:
    """One line that says how to get the QEMU for `arch`."""
    return (
        f"{machine_of(arch).emulator} was not found: install QEMU's user-mode emulation, "
        "on Debian and Ubuntu with `sudo apt-get install qemu-user` (it needs Linux)"
    )


def run(
    arch: str,
    code: Sequence[tuple[int, bytes]],
    entry: int,
    cases: Sequence[Case],
    *,
    timeout: float,
) -> list[Outcome]:
    """Run the code once for each case, each from a fresh memory, in one process.

    A case begins at `entry` unless it has an entry point of its own.

    `code` holds (address, bytes) blobs, mapped readable and executable; they may lie anywhere from
    LOWEST_ADDRESS to HIGHEST_ADDRESS outside EMULATOR_RANGE, and no data page of a case may overlap
    a page of code. The code may end with a return or a branch to RETURN_ADDRESS. `timeout` is the
    time in seconds of the clock on the wall that each case may take; a case that takes longer ends
    with SIGALRM. System calls that the code makes are carried out.

    Raises QemuError when QEMU is missing or too old, or the batch cannot be carried out.
    """
    machine = machine_of(arch)
    emulator = _emulator(machine)
    if emulator is None:
        raise QemuError(install_hint(arch))
    request = encode(machine, code, entry, cases, timeout)
    reserve = ("-R", hex(ADDRESS_SPACE)) if machine.reserved else ()
    command = (emulator, *reserve, str(RUNNERS / arch))
    try:
        done = subprocess.run(
            command,
            input=request,
            capture_output=True,
            check=False,
            timeout=timeout * len(cases) + GRACE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise QemuError(
            f"{machine.emulator} did not finish a batch of {len(cases)} cases"
        ) from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = EXIT_REASONS.get(done.returncode, f"exit status {done.returncode}")
        raise QemuError(": ".join((machine.emulator, reason, *said[-1:])))
    return decode(machine, cases, done.stdout)
