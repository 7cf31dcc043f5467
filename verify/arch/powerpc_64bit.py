"""PowerPC's architectures of 64 bits: two byte orders, and two ABIs that `e_flags` tells apart.

"64-Bit ELF V2 ABI Specification: Power Architecture", sections 2.2.3.1 (the callee saves CR at 8
and LR at 16 of the caller's frame), 2.2.3.4 (288 bytes below r1 are protected) and 3.1.1 (the two
lowest bits of `e_flags` are the version of the ABI, 0 where it makes no difference). "64-bit
PowerPC ELF Application Binary Interface Supplement 1.9", section 3.2.2 (the same, and the callee
may use the 64 bytes from 48 of the caller's frame, where its parameters have their places) and
section 3.2.1 (288 bytes are protected). r2 is the TOC, r13 the thread pointer.
"""

from __future__ import annotations

from typing import Literal

from verify.arch.model import Architecture, word_length
from verify.arch.powerpc_fixups import feature_fixups
from verify.arch.powerpc_getrandom import GETRANDOM_64
from verify.arch.powerpc_registers import pcode, vex
from verify.arch.system_calls import powerpc

_VERSION = 3
_SAVED_BY_CALLEE = ((8, 4), (16, 8))
_PARAMETERS = (48, 64)


def powerpc_64bit(
    name: str, title: str, byte_order: Literal["little", "big"], version: Literal[1, 2]
) -> Architecture:
    """The architecture with that version of the ELF ABI."""
    # Without a version, it is that with which the byte order came first.
    versions = {version, 0} if (version == 1) == (byte_order == "big") else {version}
    order = "LE" if byte_order == "little" else "BE"
    reading = vex("ArchPPC64")
    return Architecture(
        name=name,
        title=title,
        machine="EM_PPC64",
        bits=64,
        byte_order=byte_order,
        lifter=reading.lifter,
        registers=reading.registers,
        arguments=tuple(f"r{n}" for n in range(3, 11)),
        stack_pointer="r1",
        return_address="lr",
        red_zone=288,
        stack_alignment=16,
        linkage_area=(*_SAVED_BY_CALLEE, _PARAMETERS) if version == 1 else _SAVED_BY_CALLEE,
        return_alignment=4,
        instruction_bytes=4,
        instruction_alignment=4,
        instruction_length=word_length,
        illegal_instruction=bytes(4),
        debian="ppc64el" if byte_order == "little" else "",
        qemu="ppc64le" if byte_order == "little" else "ppc64",
        abi=f"ELFv{version}",
        patching=feature_fixups(64, byte_order),
        instruction_set="powerpc",
        has_flags=lambda flags: flags & _VERSION in versions,
        toc="r2",
        other_reading=pcode(f"PowerPC:{order}:64:default"),
        system_calls=powerpc(0x44000002.to_bytes(4, byte_order)),
        getrandom_port=GETRANDOM_64,
    )
