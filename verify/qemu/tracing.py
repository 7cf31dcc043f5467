"""Which instructions a case executes, as QEMU logs them one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verify.qemu.emulator import carry_out, machine_of
from verify.qemu.protocol import QemuError, decode, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.qemu.protocol import Case, Outcome

# What QEMU's -d exec writes for a block of translated code: its number, its place in the host's
# memory, and in brackets the code segment, the program counter, and two words of flags.
_EXECUTED = re.compile(
    rb"^Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/[^\]]*\] *\n", re.MULTILINE
)


def trace(
    arch: str,
    code: Sequence[tuple[int, bytes]],
    entry: int,
    cases: Sequence[Case],
    watched: tuple[int, int],
    *,
    timeout: float,
) -> list[tuple[Outcome, tuple[int, ...]]]:
    """Run the code as `run` does; with each outcome the addresses of the instructions executed.

    They are in the order of execution, each as often as it is executed, and those of the range
    `watched` (first address, last address). All cases begin at `entry`, which is in that range and
    which none may come to again, unless there is one case only. An instruction that QEMU executes
    in several steps, as x86-64's with a repeat prefix, is there for each of them, one behind the
    other.

    Raises QemuError as `run` does, and where the log cannot be told apart by cases.
    """
    machine = machine_of(arch)
    request = encode(machine, code, entry, cases, timeout)
    first, last = watched
    logged = ("-d", "exec,nochain", "-dfilter", f"{first:#x}..{last:#x}")
    done = carry_out(machine, request, timeout * len(cases), logged)
    outcomes = decode(machine, cases, done.stdout)
    executed: list[list[int]] = []
    at = 0
    for found in _EXECUTED.finditer(done.stderr):
        address = int(found[1], 16)
        if address == entry and not (executed and len(cases) == 1):
            executed.append([])
        if found.start() != at or not executed:
            break
        executed[-1].append(address)
        at = found.end()
    if at != len(done.stderr) or len(executed) != len(cases):
        raise QemuError(f"{machine.emulator} does not log the instructions of each case")
    return list(zip(outcomes, map(tuple, executed), strict=True))
