"""IBM Z (s390x), 64-bit, big-endian.

Registers and their use: "ELF Application Binary Interface s390x Supplement", sections "Registers"
(r6 to r13, r15 and f8 to f15 are preserved, and of the floating-point control the masks and the
rounding modes; the access registers a0 and a1 hold the thread pointer; r14 holds the return
address) and "The Stack Frame" (r15 is a multiple of 8; at entry the caller's frame has, 16 bytes
above it, 144 bytes for the callee to save registers in; nothing below r15 is protected). f<n> is
the more significant half of v<n>.

The two most significant bits of an instruction tell its length, and one that is all zeros never
becomes valid (z/Architecture Principles of Operation, chapter 5, "Instruction Formats").

The condition code lies in cc_dep1 (`verify.lift.flags`).

Alternatives: `struct alt_instr` of the kernel's arch/s390/include/asm/alternative.h, since Linux
6.11: the feature has 4 bits for the moment of patching, 8 for its kind and 20 for its number. The
replacement has the length of the code and is copied as it is.

An unsigned int is passed zero-extended (the ELF supplement, "Parameter Passing"). The kernel's data
page for getrandom: `enum vdso_pages` of Linux `include/vdso/datapage.h`.
"""

from verify.arch.getrandom_port import GetrandomPort
from verify.arch.kerneldata import CLOCK_MODE, SharedPages
from verify.arch.model import Architecture, Lifter, Register, Saved
from verify.arch.patching import Condition, Layout, Patching, Table, Values
from verify.arch.system_calls import SystemCalls

_PRESERVED_FLOATS = range(8, 16)

_INTEGER = (
    *(Register(f"r{n}", f"r{n}") for n in range(6)),
    *(Register(f"r{n}", f"r{n}", Saved.CALLEE) for n in range(6, 14)),
    Register("r14", "r14"),
    Register("r15", "r15", Saved.CALLEE),
    *(Register(f"a{n}", f"a{n}", Saved.RESERVED) for n in range(2)),
    *(Register(f"a{n}", f"a{n}") for n in range(2, 16)),
    Register("cc", "cc_dep1", bits=(1, 0)),
)
_VECTOR = (
    *(Register(f"v{n}", f"v{n}") for n in range(32) if n not in _PRESERVED_FLOATS),
    *(Register(f"f{n}", f"v{n}", Saved.CALLEE, (127, 64)) for n in _PRESERVED_FLOATS),
    *(Register(f"v{n}.low", f"v{n}", bits=(63, 0)) for n in _PRESERVED_FLOATS),
    Register("fpc.masks", "fpc", Saved.CALLEE, (31, 24)),
    Register("fpc.flags", "fpc", bits=(23, 8)),
    Register("fpc.rounding", "fpc", Saved.CALLEE, (7, 0)),
)


def _length(code: bytes) -> int:
    return (2, 4, 4, 6)[code[0] >> 6]


_FEATURES = ("facility", "machine feature", "speculation mitigation")
"""Kinds of features by number."""


def _condition(values: Values) -> Condition:
    kind, number = values["feature"] >> 20 & 0xFF, values["feature"] & 0xF_FFFF
    if kind >= len(_FEATURES):
        return Condition(refused=f"its feature is of the unknown kind {kind}")
    return Condition(((f"{_FEATURES[kind]} {number}", True),))


_PATCHING = Patching(
    (
        Table(
            ".altinstructions",
            (
                Layout(
                    (("start", "i"), ("replacement", "i"), ("feature", "I"), ("length", "B")),
                    _condition,
                ),
            ),
        ),
    ),
    # brcl, bc and bcr that are never taken.
    (bytes.fromhex("c00400000000"), bytes.fromhex("47000000"), bytes.fromhex("0700")),
    lambda _: False,
)

S390X = Architecture(
    name="s390x",
    title="IBM Z (s390x)",
    machine="EM_S390",
    bits=64,
    byte_order="big",
    lifter=Lifter("vex", "ArchS390X"),
    registers=(*_INTEGER, *_VECTOR),
    arguments=tuple(f"r{n}" for n in range(2, 7)),
    stack_pointer="r15",
    return_address="r14",
    red_zone=0,
    stack_alignment=8,
    linkage_area=((16, 144),),
    return_alignment=2,
    instruction_bytes=6,
    instruction_alignment=2,
    instruction_length=_length,
    illegal_instruction=bytes(2),
    debian="s390x",
    qemu="s390x",
    abi="s390x ELF ABI",
    patching=_PATCHING,
    system_calls=SystemCalls(
        instruction=bytes.fromhex("0a00"),
        number="r1",
        arguments=tuple(f"r{n}" for n in range(2, 8)),
        result="r2",
        getrandom=349,
    ),
    getrandom_port=GetrandomPort(
        page_bytes=0x1000,
        data_page=0x2000,
        barriers=(),
        extends="zero",
        shared=(SharedPages((6, 12), (6, 14), 2, 1, CLOCK_MODE, 768),),
    ),
)
