"""x86-64, System V ABI.

Registers and their use: "System V Application Binary Interface, AMD64 Architecture Processor
Supplement", section 3.2.1 (registers: rbx, rsp, rbp and r12 to r15 are preserved, and so are the
control bits of MXCSR and the x87 control word; the direction flag is clear at entry and at return,
the x87 tags are empty) and 3.2.2 (stack: at entry rsp + 8 is a multiple of 16, the return address
lies at rsp, 128 bytes below rsp are protected).

The arithmetic flags lie in cc_dep1 as they do in RFLAGS (`verify.lift.flags`). VEX keeps the
direction flag as the step of a string instruction (d), and of MXCSR and the x87 control word the
rounding modes (sseround, fpround).
"""

from verify.arch.model import ON_STACK, Architecture, Lifter, Register, Saved

_PRESERVED = ("rbx", "rsp", "rbp", "r12", "r13", "r14", "r15")
_INTEGER = tuple(
    Register(name, name, Saved.CALLEE if name in _PRESERVED else Saved.CALLER)
    for name in (
        *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"),
        *(f"r{n}" for n in range(8, 16)),
    )
)
_FLAG_BITS = {"cf": 0, "pf": 2, "af": 4, "zf": 6, "sf": 7, "of": 11}
_FLAGS = (
    *(Register(name, "cc_dep1", bits=(bit, bit)) for name, bit in _FLAG_BITS.items()),
    Register("df", "d", Saved.CALLEE),
    Register("ac", "ac"),
    Register("id", "id"),
)
_VECTOR = (
    *(Register(f"xmm{n}", f"zmm{n}", bits=(127, 0)) for n in range(32)),
    *(Register(f"ymm{n}.high", f"zmm{n}", bits=(255, 128)) for n in range(32)),
    *(Register(f"zmm{n}.high", f"zmm{n}", bits=(511, 256)) for n in range(32)),
    *(Register(f"k{n}", f"k{n}") for n in range(8)),
    Register("mxcsr.rc", "sseround", Saved.CALLEE),
)
_X87 = (
    *(Register(f"mm{n}", "fpreg", bits=(64 * n + 63, 64 * n)) for n in range(8)),
    Register("x87.tags", "fptag", Saved.CALLEE),
    Register("x87.top", "ftop", Saved.CALLEE),
    Register("x87.conditions", "fc3210"),
    Register("x87.rc", "fpround", Saved.CALLEE),
)


def _length(code: bytes) -> int:
    """As Capstone decodes it; 1 for what it does not know."""
    import capstone

    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    return next((size for _, size, _, _ in decoder.disasm_lite(code, 0, 1)), 1)


X86_64 = Architecture(
    name="x86_64",
    title="x86-64",
    machine="EM_X86_64",
    bits=64,
    byte_order="little",
    lifter=Lifter("vex", "ArchAMD64"),
    registers=(*_INTEGER, *_FLAGS, *_VECTOR, *_X87),
    arguments=("rdi", "rsi", "rdx", "rcx", "r8", "r9"),
    stack_pointer="rsp",
    return_address=ON_STACK,
    red_zone=128,
    stack_alignment=16,
    linkage_area=((0, 8),),
    return_alignment=1,
    instruction_bytes=15,
    instruction_alignment=1,
    instruction_length=_length,
    illegal_instruction=b"\x06",  # push es, in 64-bit mode
    debian="amd64",
    qemu="x86_64",
    abi="System V",
)
