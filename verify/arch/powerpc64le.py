"""PowerPC 64, little-endian, ELFv2.

Registers and their use: "64-Bit ELF V2 ABI Specification: Power Architecture", section 2.2.2
(registers, among them the non-volatile condition fields CR2 to CR4) and 2.2.3 (stack: 288 bytes
below r1 are protected, the callee saves CR at 8 and LR at 16 of the caller's frame). r2 (TOC) and
r13 (thread pointer) are reserved here. f0..f31 are the high halves of VSR 0..31, v0..v31 are
VSR 32..63.
"""

from verify.arch.model import Architecture, Lifter, Register, Saved, word_length
from verify.arch.powerpc_fixups import feature_fixups

_SPECIAL_INTEGER = {1: Saved.CALLEE, 2: Saved.RESERVED, 13: Saved.RESERVED}
_INTEGER = tuple(
    Register(
        f"r{n}",
        f"gpr{n}",
        _SPECIAL_INTEGER.get(n, Saved.CALLEE if n >= 14 else Saved.CALLER),
    )
    for n in range(32)
)
_FLOAT = tuple(
    Register(f"f{n}", f"vsr{n}", Saved.CALLEE if n >= 14 else Saved.CALLER, (127, 64))
    for n in range(32)
)
_FLOAT_LOW = tuple(Register(f"vs{n}.low", f"vsr{n}", bits=(63, 0)) for n in range(32))
_VECTOR = tuple(
    Register(f"v{n}", f"vsr{n + 32}", Saved.CALLEE if n >= 20 else Saved.CALLER) for n in range(32)
)
_CONDITION = tuple(
    Register(name, storage, Saved.CALLEE if n in (2, 3, 4) else Saved.CALLER)
    for n in range(8)
    for name, storage in ((f"cr{n}", f"cr{n}_321"), (f"cr{n}.so", f"cr{n}_0"))
)
_FIXED_POINT_EXCEPTION = tuple(
    Register(f"xer.{field}", f"xer_{field}") for field in ("so", "ov", "ca", "bc")
)

POWERPC64LE = Architecture(
    name="powerpc64le",
    title="PowerPC 64-bit little-endian",
    machine="EM_PPC64",
    bits=64,
    byte_order="little",
    lifter=Lifter("vex", "ArchPPC64"),
    registers=(
        *_INTEGER,
        Register("lr", "lr"),
        Register("ctr", "ctr"),
        *_FIXED_POINT_EXCEPTION,
        *_CONDITION,
        *_FLOAT,
        *_FLOAT_LOW,
        *_VECTOR,
        Register("vscr", "vscr"),
        Register("vrsave", "vrsave", Saved.CALLEE),
    ),
    arguments=tuple(f"r{n}" for n in range(3, 11)),
    stack_pointer="r1",
    return_address="lr",
    red_zone=288,
    stack_alignment=16,
    linkage_area=((8, 4), (16, 8)),
    return_alignment=4,
    instruction_bytes=4,
    instruction_alignment=4,
    instruction_length=word_length,
    illegal_instruction=bytes(4),
    debian="ppc64el",
    qemu="ppc64le",
    abi="ELFv2",
    patching=feature_fixups(64, "little"),
)
