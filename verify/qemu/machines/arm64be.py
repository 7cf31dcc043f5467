"""AArch64 with big-endian data under QEMU."""

from verify.qemu.machines.arm64 import machine

MACHINE = machine("arm64be", "qemu-aarch64_be", "big")
