"""PowerPC 64, big-endian, under QEMU: what calls a function does not depend on the ELF ABI."""

from verify.qemu.machines.powerpc64 import machine

MACHINE = machine("powerpc64elfv2", "qemu-ppc64", "big", runner="powerpc64")
