"""x86-64 under QEMU.

Register names: "System V Application Binary Interface, AMD64 Architecture Processor Supplement",
section 3.2.1.
"""

from verify.qemu.machines.model import PROGRAM_COUNTER, Machine, Place, words

_GENERAL = [
    *(f"r{n}" for n in range(8, 16)),
    *("rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", PROGRAM_COUNTER, "eflags"),
]
_VECTORS = 8 * 18

MACHINE = Machine(
    name="x86_64",
    emulator="qemu-x86_64",
    places={
        **words(_GENERAL, 0),
        **{f"xmm{n}": Place(_VECTORS + 16 * n, 128) for n in range(16)},
    },
    size=8 * (18 + 32),
    return_address=None,
    reserved=False,  # the page of vsyscall lies above
    no_address=0,  # of a general-protection exception, as at an operand that is not aligned
)
