"""AArch64, little-endian, AAPCS64.

Registers and their use: "Procedure Call Standard for the Arm 64-bit Architecture (AArch64)",
sections "General-purpose registers" (x19 to x29 and sp are preserved, x18 belongs to the platform,
x30 holds the return address), "SIMD and Floating-Point registers" (of v8 to v15 only the low 64
bits are preserved; FPCR is preserved, the condition flags and FPSR are not) and "Universal stack
constraints" (sp is a multiple of 16, and nothing below it is protected). TPIDR_EL0 is the thread
pointer. Every instruction has 32 bits; the one that is all zeros is permanently undefined (Arm
Architecture Reference Manual for A-profile, "UDF").

The condition flags lie in cc_dep1 as they do in NZCV (`verify.lift.flags`); VEX keeps FPSR.QC as
a vector that is zero when it is clear (qcflag). SVE and SME registers are unknown to VEX, and so
are the instructions that would change them.

Alternatives: `struct alt_instr` of the kernel's arch/arm64/include/asm/alternative.h; bit 15 of the
capability means that a function of the kernel makes the replacement.

Bits of an argument's register above its type are unspecified (AAPCS64, "Parameter passing"). The
kernel's data page for getrandom: `enum vdso_pages` of Linux `include/vdso/datapage.h`, with pages
of 4 KiB.
"""

from verify.arch.getrandom_port import GetrandomPort
from verify.arch.kerneldata import CLOCK_MODE, SharedPages
from verify.arch.model import Architecture, Lifter, Register, Saved, word_length
from verify.arch.patching import Condition, Layout, Patching, Table, Values, words_matching
from verify.arch.system_calls import GENERIC_GETRANDOM, SystemCalls

_FLAG_BITS = {"n": 31, "z": 30, "c": 29, "v": 28}
_PRESERVED_VECTORS = range(8, 16)

_INTEGER = (
    *(Register(f"x{n}", f"x{n}") for n in range(18)),
    Register("x18", "x18", Saved.RESERVED),
    *(Register(f"x{n}", f"x{n}", Saved.CALLEE) for n in range(19, 30)),
    Register("x30", "x30"),
    Register("sp", "xsp", Saved.CALLEE),
    Register("tpidr_el0", "tpidr_el0", Saved.RESERVED),
)
_FLAGS = tuple(Register(name, "cc_dep1", bits=(bit, bit)) for name, bit in _FLAG_BITS.items())
_VECTOR = (
    *(Register(f"v{n}", f"q{n}") for n in range(32) if n not in _PRESERVED_VECTORS),
    *(Register(f"d{n}", f"q{n}", Saved.CALLEE, (63, 0)) for n in _PRESERVED_VECTORS),
    *(Register(f"v{n}.high", f"q{n}", bits=(127, 64)) for n in _PRESERVED_VECTORS),
    Register("fpcr", "fpcr", Saved.CALLEE),
    Register("fpsr.qc", "qcflag"),
)

_CALLBACK = 1 << 15
_RELATIVE = (
    (0x7C00_0000, 0x1400_0000),  # b, bl
    (0xFF00_0000, 0x5400_0000),  # b.cond, bc.cond
    (0x7E00_0000, 0x3400_0000),  # cbz, cbnz
    (0x7E00_0000, 0x3600_0000),  # tbz, tbnz
    (0x1F00_0000, 0x1000_0000),  # adr, adrp
    (0x3B00_0000, 0x1800_0000),  # ldr, ldrsw, prfm (literal)
)


def _condition(values: Values) -> Condition:
    if values["capability"] & _CALLBACK:
        return Condition(refused="a function of the kernel makes its replacement")
    if values["length"] != values["replacement_length"]:
        return Condition(refused="its replacement has another length than the code")
    return Condition(((f"capability {values['capability']}", True),))


_PATCHING = Patching(
    (
        Table(
            ".altinstructions",
            (
                Layout(
                    (
                        ("start", "i"),
                        ("replacement", "i"),
                        ("capability", "H"),
                        ("length", "B"),
                        ("replacement_length", "B"),
                    ),
                    _condition,
                ),
            ),
        ),
    ),
    (bytes.fromhex("1f2003d5"),),
    words_matching("little", *_RELATIVE),
)

ARM64 = Architecture(
    name="arm64",
    title="AArch64",
    machine="EM_AARCH64",
    bits=64,
    byte_order="little",
    lifter=Lifter("vex", "ArchAArch64"),
    registers=(*_INTEGER, *_FLAGS, *_VECTOR),
    arguments=tuple(f"x{n}" for n in range(8)),
    stack_pointer="sp",
    return_address="x30",
    red_zone=0,
    stack_alignment=16,
    linkage_area=(),
    return_alignment=4,
    instruction_bytes=4,
    instruction_alignment=4,
    instruction_length=word_length,
    illegal_instruction=bytes(4),
    debian="arm64",
    qemu="aarch64",
    abi="AAPCS64",
    patching=_PATCHING,
    system_calls=SystemCalls(
        instruction=0xD4000001.to_bytes(4, "little"),
        number="x8",
        arguments=tuple(f"x{n}" for n in range(6)),
        result="x0",
        getrandom=GENERIC_GETRANDOM,
    ),
    getrandom_port=GetrandomPort(
        page_bytes=0x1000,
        data_page=0x2000,
        barriers=((0xFFFF_F0FF, 0xD503_30BF),),  # dmb
        extends="not",
        signs=((0xD503_233F, "x30"),),  # paciasp
        authenticates=((0xD503_23BF, "x30"),),  # autiasp
        shared=(SharedPages((6, 12), (6, 14), 2, 1, CLOCK_MODE, 480),),
    ),
)
