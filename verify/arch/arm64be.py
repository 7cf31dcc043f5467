"""AArch64, big-endian, AAPCS64.

Everything is as in the little-endian architecture but the byte order of data. Instructions are
little-endian in either ("Arm Architecture Reference Manual for A-profile", section "Instruction
endianness"), and registers have no byte order.
"""

from dataclasses import replace

from verify.arch.arm64 import ARM64

ARM64BE = replace(
    ARM64,
    name="arm64be",
    title="AArch64 big-endian",
    byte_order="big",
    instruction_set=ARM64.instruction_set,
    code_order="little",
    debian="",
    qemu="aarch64_be",
)
