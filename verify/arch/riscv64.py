"""RISC-V 64, little-endian, lp64d, with compressed instructions.

Registers and their use: "RISC-V ABIs Specification", chapter "Calling Conventions", sections
"Integer Register Convention" (gp and tp are not to be modified) and "Floating-point Register
Convention", and section "Integer Calling Convention" (sp is a multiple of 16; there is no red
zone). A return goes to ra with its lowest bit cleared (The RISC-V Instruction Set Manual, Volume I,
section "Unconditional Jumps"), and with compressed instructions every return address is even.

The shadow stack: chapter "Control-flow Integrity (CFI)" of the manual, section "Shadow Stack
(Zicfiss)"; where it is not active its instructions are those of Zimop that write 0 to x0.

Alternatives: `struct alt_entry` of the kernel's arch/riscv/include/asm/alternative.h; vendor 0
means a feature of the processor, with an optional value in the upper half of its number, any other
an erratum of that vendor.
"""

from verify.arch.getrandom_port import GetrandomPort
from verify.arch.model import Architecture, Lifter, Register, Saved
from verify.arch.patching import Condition, Layout, Patching, Table, Values
from verify.arch.system_calls import GENERIC_GETRANDOM, SystemCalls

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


_RELATIVE_OPCODES = (0x6F, 0x63, 0x17)
"""jal, branches, auipc (section "RV32/64G Instruction Set Listings", opcode in the 7 low bits)."""
_RELATIVE_COMPRESSED = (0xA001, 0xC001, 0xE001)
"""c.j, c.beqz, c.bnez (chapter "C", bits 15 to 13 and 1 to 0)."""


def _relative(code: bytes) -> bool:
    if _length(code) == 2:
        return int.from_bytes(code[:2], "little") & 0xE003 in _RELATIVE_COMPRESSED
    return code[0] & 0x7F in _RELATIVE_OPCODES


def _condition(values: Values) -> Condition:
    number, value = values["patch"] & 0xFFFF, values["patch"] >> 16
    if values["vendor"]:
        return Condition(((f"erratum {values['patch']} of vendor {values['vendor']:#x}", True),))
    return Condition(((f"cpu feature {number}" + (f" value {value}" if value else ""), True),))


_PATCHING = Patching(
    (
        Table(
            ".altinstructions",
            (
                Layout(
                    (
                        ("start", "i"),
                        ("replacement", "i"),
                        ("vendor", "H"),
                        ("length", "H"),
                        ("patch", "I"),
                    ),
                    _condition,
                ),
            ),
        ),
    ),
    (bytes.fromhex("13000000"), bytes.fromhex("0100")),
    _relative,
)

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
    patching=_PATCHING,
    system_calls=SystemCalls(
        instruction=0x00000073.to_bytes(4, "little"),
        number="a7",
        arguments=tuple(f"a{n}" for n in range(6)),
        result="a0",
        getrandom=GENERIC_GETRANDOM,
    ),
    getrandom_port=GetrandomPort(
        page_bytes=0x1000,
        data_page=0x2000,
        barriers=((0x000F_FFFF, 0x0000_000F),),  # fence
        extends="sign",
        pushes=((0xCE10_4073, "ra"), (0xCE50_4073, "t0")),  # sspush
        checks=((0xCDC0_C073, "ra"), (0xCDC2_C073, "t0")),  # sspopchk
    ),
)
