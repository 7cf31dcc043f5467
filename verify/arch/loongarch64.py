"""LoongArch 64, little-endian, lp64d.

Registers and their use: "ELF for the LoongArch Architecture psABI", sections "Register
Convention" and "Stack Frame Layout"; the ABI has no red zone. $r21 is reserved there, and the
kernel keeps its per-CPU base in it. The lifter is SLEIGH's P-code: VEX has no LoongArch.

The floating-point registers are the low halves of the 128-bit vector registers of LSX (SLEIGH's
v0 to v31); of f24 to f31 (fs0 to fs7) only these are preserved. LASX, which makes them 256 bits
wide, is not known here: its instructions are refused.

An unsigned int is passed sign-extended (LoongArch procedure call standard, "Integer calling
convention"). The kernel's data page for getrandom: `enum vdso_pages` of Linux
`include/vdso/datapage.h`, with pages of 16 KiB.

Alternatives: `struct alt_instr` of the kernel's arch/loongarch/include/asm/alternative.h.
"""

from verify.arch.getrandom_port import GetrandomPort
from verify.arch.model import Architecture, Lifter, Register, Saved, word_length
from verify.arch.patching import Condition, Layout, Patching, Table, words_matching
from verify.arch.system_calls import GENERIC_GETRANDOM, SystemCalls

_INTEGER = (
    Register("zero", "zero", Saved.CONSTANT),
    Register("ra", "ra"),
    Register("tp", "tp", Saved.RESERVED),
    Register("sp", "sp", Saved.CALLEE),
    *(Register(f"a{n}", f"a{n}") for n in range(8)),
    *(Register(f"t{n}", f"t{n}") for n in range(9)),
    Register("r21", "r21", Saved.RESERVED),
    Register("fp", "fp", Saved.CALLEE),
    *(Register(f"s{n}", f"s{n}", Saved.CALLEE) for n in range(9)),
)
_FLOAT = (
    *(Register(f"fa{n}", f"v{n}", bits=(63, 0)) for n in range(8)),
    *(Register(f"ft{n}", f"v{n + 8}", bits=(63, 0)) for n in range(16)),
    *(Register(f"fs{n}", f"v{n + 24}", Saved.CALLEE, (63, 0)) for n in range(8)),
)
_VECTOR_HIGH = tuple(Register(f"vr{n}.high", f"v{n}", bits=(127, 64)) for n in range(32))
_CONDITION = tuple(Register(f"fcc{n}", f"fcc{n}") for n in range(8))

_RELATIVE = (
    *((0xFC00_0000, opcode << 26) for opcode in (0x10, 0x11, 0x12)),  # beqz, bnez, bceqz, bcnez
    *((0xFC00_0000, opcode << 26) for opcode in range(0x14, 0x1C)),  # b, bl, beq to bgeu
    *((0xFE00_0000, opcode << 25) for opcode in range(0x0C, 0x10)),  # pcaddi to pcaddu18i
)
_PATCHING = Patching(
    (
        Table(
            ".altinstructions",
            (
                Layout(
                    (
                        ("start", "i"),
                        ("replacement", "i"),
                        ("feature", "H"),
                        ("length", "B"),
                        ("replacement_length", "B"),
                    ),
                    lambda values: Condition(((f"cpu feature {values['feature']}", True),)),
                ),
            ),
        ),
    ),
    (bytes.fromhex("00004003"),),
    words_matching("little", *_RELATIVE),
)

LOONGARCH64 = Architecture(
    name="loongarch64",
    title="LoongArch 64-bit",
    machine="EM_LOONGARCH",
    bits=64,
    byte_order="little",
    lifter=Lifter("pcode", "Loongarch:LE:64:lp64d"),
    registers=(*_INTEGER, *_FLOAT, *_VECTOR_HIGH, *_CONDITION, Register("fcsr", "fcsr")),
    arguments=tuple(f"a{n}" for n in range(8)),
    stack_pointer="sp",
    return_address="ra",
    red_zone=0,
    stack_alignment=16,
    linkage_area=(),
    return_alignment=4,
    instruction_bytes=4,
    instruction_alignment=4,
    instruction_length=word_length,
    illegal_instruction=bytes(4),
    debian="loong64",
    qemu="loongarch64",
    abi="lp64d",
    patching=_PATCHING,
    system_calls=SystemCalls(
        instruction=0x002B0000.to_bytes(4, "little"),
        number="a7",
        arguments=tuple(f"a{n}" for n in range(6)),
        result="a0",
        getrandom=GENERIC_GETRANDOM,
        destroyed=tuple(f"t{n}" for n in range(9)),
    ),
    getrandom_port=GetrandomPort(
        page_bytes=0x4000,
        data_page=0x8000,
        barriers=((0xFFFF_8000, 0x3872_0000),),  # dbar
        extends="sign",
    ),
)
