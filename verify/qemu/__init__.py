"""Run the real bytes of a function, or of single instructions, under QEMU's user-mode emulators.

QEMU is the executor that shares nothing with the lifters: what it computes is what a refutation is
confirmed with and what the lifters are compared with. A freestanding runner, one static program per
architecture, maps code and data at the given addresses, sets every register, enters the code and
reports every register, the observed memory and the signal that stopped it, if one did.
"""

from verify.qemu.emulator import available, install_hint, lacking, machine_of, run
from verify.qemu.machines import MACHINES
from verify.qemu.protocol import (
    PAGE,
    Case,
    Outcome,
    QemuError,
    pages,
)
from verify.qemu.tracing import trace

__all__ = [
    "MACHINES",
    "PAGE",
    "Case",
    "Outcome",
    "QemuError",
    "available",
    "install_hint",
    "lacking",
    "machine_of",
    "pages",
    "run",
    "trace",
]
