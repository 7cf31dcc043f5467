"""x86-64, System V ABI.

Registers and their use: "System V Application Binary Interface, AMD64 Architecture Processor
Supplement", section 3.2.1 (registers: rbx, rsp, rbp and r12 to r15 are preserved, and so are the
control bits of MXCSR and the x87 control word; the direction flag is clear at entry and at return,
the x87 tags are empty) and 3.2.2 (stack: at entry rsp + 8 is a multiple of 16, the return address
lies at rsp, 128 bytes below rsp are protected).

The arithmetic flags lie in cc_dep1 as they do in RFLAGS (`verify.lift.flags`). VEX keeps the
direction flag as the step of a string instruction (d), 1 or -1, of which bit 1 is the flag, and of
MXCSR and the x87 control word the rounding modes (sseround, fpround).

Alternatives: `struct alt_instr` of the kernel's arch/x86/include/asm/alternative.h, with 32 bits
for feature and flags since Linux 6.3, before with 16 and, up to 5.12, the number of bytes of
padding; in these the highest bit is the flag that inverts. The nops are those that the manual
recommends (Intel 64 and IA-32 Architectures Software Developer's Manual, Volume 2, "NOP").
"""

from verify.arch.getrandom_port import GetrandomPort
from verify.arch.kerneldata import CLOCK_MODE, SharedPages
from verify.arch.model import ON_STACK, Architecture, Lifter, Register, Saved
from verify.arch.patching import Condition, Layout, Patching, Table, Values
from verify.arch.system_calls import SystemCalls

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
    Register("df", "d", Saved.CALLEE, (1, 1)),
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


_NOT, _NOT_16 = 1 << 16, 1 << 15
_ALWAYS = 3 * 32 + 21
"""X86_FEATURE_ALWAYS, which every processor has."""


def _feature(number: int, inverted: bool) -> Condition:
    if number == _ALWAYS:
        return Condition(negated=inverted)
    return Condition(((f"cpu feature {number // 32}*32+{number % 32}", not inverted),))


def _condition(values: Values) -> Condition:
    flags = values["feature"] & ~0xFFFF
    if flags & ~_NOT:
        return Condition(refused=f"it has the unknown flags {flags >> 16:#x}")
    return _feature(values["feature"] & 0xFFFF, bool(flags))


def _condition_16(values: Values) -> Condition:
    return _feature(values["feature"] & ~_NOT_16, bool(values["feature"] & _NOT_16))


def _layout(feature: str, *more: tuple[str, str]) -> Layout:
    return Layout(
        (
            ("start", "i"),
            ("replacement", "i"),
            ("feature", feature),
            ("length", "B"),
            ("replacement_length", "B"),
            *more,
        ),
        _condition if feature == "I" else _condition_16,
    )


def _relative(code: bytes) -> bool:
    """Branches and calls to an address of their own, rip as a base, and what Capstone does not
    know."""
    import capstone
    from capstone.x86 import X86_OP_MEM, X86_REG_RIP

    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    for one in decoder.disasm(code, 0, 1):
        return one.group(capstone.CS_GRP_BRANCH_RELATIVE) or any(
            operand.type == X86_OP_MEM and operand.mem.base == X86_REG_RIP
            for operand in one.operands
        )
    return True


_PATCHING = Patching(
    (Table(".altinstructions", (_layout("I"), _layout("H"), _layout("H", ("padding", "B")))),),
    tuple(
        map(
            bytes.fromhex,
            (
                "0f1f840000000000",
                "0f1f8000000000",
                "660f1f440000",
                "0f1f440000",
                "0f1f4000",
                "0f1f00",
                "6690",
                "90",
            ),
        )
    ),
    _relative,
    extends=True,
)

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
    patching=_PATCHING,
    system_calls=SystemCalls(
        instruction=bytes.fromhex("0f05"),
        number="rax",
        arguments=("rdi", "rsi", "rdx", "r10", "r8", "r9"),
        result="rax",
        getrandom=318,
        destroyed=("rcx", "r11"),
    ),
    # Kernels are compiled with a stack that is aligned to 8 bytes only. No processor asks for more.
    getrandom_port=GetrandomPort(
        page_bytes=0x1000,
        data_page=0x4000,
        barriers=(),
        extends="not",
        call_alignment=8,
        at_entry=(("d", 1),),
        shared=(SharedPages((6, 11), (6, 12), 4, 1, 128 + CLOCK_MODE, 640),),
    ),
)
