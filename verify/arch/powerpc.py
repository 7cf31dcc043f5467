"""PowerPC 32, big-endian, System V ABI.

"Power Architecture 32-bit Application Binary Interface Supplement 1.0 - Linux & Embedded", section
3.2.2: r1 is a multiple of 16, the callee saves LR at 4 of the caller's frame, and nothing below r1
is protected. r2 is the thread pointer, r13 the small data area.
"""

from verify.arch.model import Architecture, word_length
from verify.arch.powerpc_fixups import feature_fixups
from verify.arch.powerpc_getrandom import GETRANDOM
from verify.arch.powerpc_registers import pcode, vex
from verify.arch.system_calls import powerpc

_VEX = vex("ArchPPC32")

POWERPC = Architecture(
    name="powerpc",
    title="PowerPC 32-bit big-endian",
    machine="EM_PPC",
    bits=32,
    byte_order="big",
    lifter=_VEX.lifter,
    registers=_VEX.registers,
    arguments=tuple(f"r{n}" for n in range(3, 11)),
    stack_pointer="r1",
    return_address="lr",
    red_zone=0,
    stack_alignment=16,
    linkage_area=((4, 4),),
    return_alignment=4,
    instruction_bytes=4,
    instruction_alignment=4,
    instruction_length=word_length,
    illegal_instruction=bytes(4),
    debian="",
    qemu="ppc",
    abi="System V",
    patching=feature_fixups(32, "big"),
    instruction_set="powerpc",
    other_reading=pcode("PowerPC:BE:32:default"),
    system_calls=powerpc(0x44000002.to_bytes(4, "big")),
    getrandom_port=GETRANDOM,
)
