"""RISC-V 64, little-endian, lp64d, with compressed instructions.

Registers and their use: "RISC-V ABIs Specification", chapter "Calling Conventions", sections
"Integer Register Convention" (gp and tp are not to be modified) and "Floating-point Register
Convention", and section "Integer Calling Convention" (sp is a multiple of 16; there is no red
zone). A return goes to ra with its lowest bit cleared (The RISC-V Instruction Set Manual, Volume I,
section "Unconditional Jumps"), and with compressed instructions every return address is even.
"""

from verify.arch.model import Architecture, Lifter, Register, Saved

_INTEGER = (
    Register("zero", "zero", Saved.CONSTANT),
    Register("ra", "ra"),
    Register("sp", "sp", Saved.CALLEE),
    Register("gp", "gp", Saved.RESERVED),
    Register("tp", "tp", Saved.RESERVED),
    *(Register(f"t{n}", f"t{n}") for n in range(7)),
    *(Register(f"s{n}", f"s{n}", Saved.CALLEE) for n in range(12)),
    *(Register(f"a{n}", f"a{n}") for n in range(8)),
)
_FLOAT = (
    *(Register(f"ft{n}", f"ft{n}") for n in range(12)),
    *(Register(f"fs{n}", f"fs{n}", Saved.CALLEE) for n in range(12)),
    *(Register(f"fa{n}", f"fa{n}") for n in range(8)),
)


def _length(code: bytes) -> int:
    """16 bits unless the two lowest are ones (section "Base Instruction-Length Encoding")."""
    return 4 if code[0] & 3 == 3 else 2


RISCV64 = Architecture(
    name="riscv64",
    title="RISC-V 64-bit",
    machine="EM_RISCV",
    bits=64,
    byte_order="little",
    lifter=Lifter("vex", "ArchRISCV64"),
    registers=(*_INTEGER, *_FLOAT),
    arguments=tuple(f"a{n}" for n in range(8)),
    stack_pointer="sp",
    return_address="ra",
    red_zone=0,
    stack_alignment=16,
    linkage_area=(),
    return_alignment=2,
    instruction_bytes=4,
    instruction_alignment=2,
    instruction_length=_length,
    illegal_instruction=bytes(2),
    debian="riscv64",
    qemu="riscv64",
    abi="lp64d",
)
