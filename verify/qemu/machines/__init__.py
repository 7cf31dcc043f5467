"""The architectures that can be executed, one file each."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from verify.qemu.machines.model import NARROW, PROGRAM_COUNTER, WIDE, AddressSpace, Machine, Place

MACHINES: dict[str, Machine] = {
    found.name: import_module(f"{__name__}.{found.name}").MACHINE
    for found in iter_modules(__path__)
    if found.name != "model"
}
"""The machines by the harness's name of the architecture."""

__all__ = ["MACHINES", "NARROW", "PROGRAM_COUNTER", "WIDE", "AddressSpace", "Machine", "Place"]
