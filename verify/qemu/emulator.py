"""Start QEMU with the runner."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
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

BESIDE_PYTHON = sysconfig.get_path("scripts")
"""Where emulators are looked for besides PATH: the directory of the environment's commands."""

ONE_INSTRUCTION_SINCE = (8, 1)
"""The version in which -singlestep got the name -one-insn-per-tb."""

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


@dataclass(frozen=True)
class _Emulator:
    """An emulator: its path, the first line that it says of its version, and that as numbers."""

    path: str
    version: str
    number: tuple[int, ...]


@cache
def newest(name: str, directories: str) -> _Emulator | None:
    """The newest emulator of that name, or with -static behind it, in the directories."""
    found = []
    for directory in directories.split(os.pathsep):
        for path in (shutil.which(each, path=directory) for each in (name, f"{name}-static")):
            if path is None:
                continue
            shown = subprocess.run((path, "--version"), capture_output=True, text=True, check=False)
            if shown.returncode == 0 and shown.stdout:
                line = shown.stdout.splitlines()[0]
                number = re.search(r"version (\d+)\.(\d+)", line)
                numbers = tuple(map(int, number.groups())) if number else ()
                found.append(_Emulator(path, line, numbers))
    return max(found, key=lambda emulator: emulator.number, default=None)


def _emulator(machine: Machine) -> _Emulator | None:
    directories = os.pathsep.join((os.environ.get("PATH", os.defpath), BESIDE_PYTHON))
    return newest(machine.emulator, directories)


def available(arch: str) -> str | None:
    """The version line of the newest QEMU that emulates `arch` in user mode, None without one.

    It is looked for on PATH and beside the Python interpreter. Raises QemuError for an
    architecture without a runner.
    """
    emulator = _emulator(machine_of(arch))
    return None if emulator is None else emulator.version


def lacking(arch: str) -> str:
    """One line that says what the QEMU for `arch` is too old for and how to get a newer one.

    Empty where it is new enough, or where there is none at all. Raises QemuError as `available`.
    """
    machine = machine_of(arch)
    emulator, extension = _emulator(machine), machine.extension
    if emulator is None or extension is None or emulator.number >= extension.since:
        return ""
    since = ".".join(map(str, extension.since))
    return (
        f"{extension.name} needs QEMU {since} or newer, and this is {emulator.version}; get it "
        "with `make setup-qemu`, or from Debian's backports (package qemu-user)"
    )


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

    `code` holds (address, bytes) blobs, mapped readable and executable; they may lie wherever the
    machine's address space is usable, and no data page of a case may overlap a page of code. The
    code may end with a return or a branch to the machine's return address. `timeout` is the time in
    seconds of the clock on the wall that each case may take; a case that takes longer ends
    with SIGALRM. System calls that the code makes are carried out.

    Raises QemuError when QEMU is missing or too old, or the batch cannot be carried out.
    """
    machine = machine_of(arch)
    request = encode(machine, code, entry, cases, timeout)
    done = carry_out(machine, request, timeout * len(cases))
    return decode(machine, cases, done.stdout)


def carry_out(
    machine: Machine, request: bytes, seconds: float, logged: Sequence[str] = ()
) -> subprocess.CompletedProcess[bytes]:
    """Let the runner answer a request whose cases may take so many seconds.

    `logged` are options of QEMU by which it logs what it does to standard error, with each block of
    translated code no longer than an instruction; without any, nothing is logged.

    Raises QemuError as `run` does.
    """
    emulator = _emulator(machine)
    if emulator is None:
        raise QemuError(install_hint(machine.name))
    reserve = ("-R", hex(ADDRESS_SPACE)) if machine.reserved else ()
    processor = ("-cpu", machine.processor) if machine.processor else ()
    stepped = emulator.number >= ONE_INSTRUCTION_SINCE
    one = ("-one-insn-per-tb" if stepped else "-singlestep",) if logged else ()
    runner = str(RUNNERS / (machine.runner or machine.name))
    command = (emulator.path, *reserve, *processor, *one, *logged, runner)
    try:
        done = subprocess.run(
            command,
            input=request,
            capture_output=True,
            check=False,
            timeout=seconds + GRACE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise QemuError(f"{machine.emulator} did not finish within {seconds:.0f} s") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reason = EXIT_REASONS.get(done.returncode, f"exit status {done.returncode}")
        raise QemuError(": ".join((machine.emulator, reason, *said[-1:])))
    return done
