"""How code makes Linux system calls: what a getrandom that leaves something to the kernel does.

Source: syscall(2), and for what a system call leaves in other registers Linux
`Documentation/arch/loongarch/introduction.rst`, `Documentation/arch/powerpc/syscall64-abi.rst` and
"System V Application Binary Interface, AMD64 Architecture Processor Supplement", section A.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SystemCalls:
    """One architecture's system calls; registers have the ABI's names.

    `instruction` makes one: `number` holds its number, `arguments` the arguments, and `result` what
    it returns. An error is a negative number; or, where `error` names a register of one bit, a
    positive one with that bit set, and the exported getrandom returns errors so too. `destroyed`
    are the other registers that do not keep what they held. `getrandom` is the number of
    getrandom(2).
    """

    instruction: bytes
    number: str
    arguments: tuple[str, ...]
    result: str
    getrandom: int
    destroyed: tuple[str, ...] = ()
    error: str = ""


GENERIC_GETRANDOM = 278
"""Linux `include/uapi/asm-generic/unistd.h`."""


def powerpc(instruction: bytes) -> SystemCalls:
    """PowerPC's in one byte order of instructions."""
    return SystemCalls(
        instruction=instruction,
        number="r0",
        arguments=tuple(f"r{n}" for n in range(3, 9)),
        result="r3",
        getrandom=359,
        destroyed=(
            "r0",
            *(f"r{n}" for n in range(4, 13)),
            *("ctr", "xer.so", "xer.ov", "xer.ca", "xer.bc", "cr0"),
        ),
        error="cr0.so",
    )
