"""The architectures that the harness knows, one file each."""

from __future__ import annotations

from verify.arch.arm64 import ARM64
from verify.arch.arm64be import ARM64BE
from verify.arch.loongarch64 import LOONGARCH64
from verify.arch.model import ON_STACK, Architecture, Lifter, Reading, Register, Saved
from verify.arch.powerpc import POWERPC
from verify.arch.powerpc64 import POWERPC64
from verify.arch.powerpc64elfv2 import POWERPC64ELFV2
from verify.arch.powerpc64le import POWERPC64LE
from verify.arch.riscv64 import RISCV64
from verify.arch.s390x import S390X
from verify.arch.system_calls import SystemCalls
from verify.arch.x86_64 import X86_64

ARCHITECTURES: tuple[Architecture, ...] = (
    ARM64,
    ARM64BE,
    LOONGARCH64,
    POWERPC,
    POWERPC64,
    POWERPC64ELFV2,
    POWERPC64LE,
    RISCV64,
    S390X,
    X86_64,
)

DEBIAN = tuple(dict.fromkeys(known.debian for known in ARCHITECTURES if known.debian))
"""Debian's names of those whose kernels it has."""


def find_architecture(machine: str, bits: int, byte_order: str, flags: int) -> Architecture | None:
    """The architecture of an ELF file: e_machine by name, word width in bits, byte order,
    e_flags."""
    for architecture in ARCHITECTURES:
        if (architecture.machine, architecture.bits, architecture.byte_order) == (
            machine,
            bits,
            byte_order,
        ) and architecture.has_flags(flags):
            return architecture
    return None


def by_name(name: str) -> Architecture:
    """The architecture of that name; raises KeyError."""
    return {architecture.name: architecture for architecture in ARCHITECTURES}[name]


__all__ = [
    "ARCHITECTURES",
    "DEBIAN",
    "ON_STACK",
    "Architecture",
    "Lifter",
    "Reading",
    "Register",
    "Saved",
    "SystemCalls",
    "by_name",
    "find_architecture",
]
