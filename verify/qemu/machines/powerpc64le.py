"""PowerPC 64, little-endian, under QEMU."""

from verify.qemu.machines.powerpc64 import machine

MACHINE = machine("powerpc64le", "qemu-ppc64le", "little")
