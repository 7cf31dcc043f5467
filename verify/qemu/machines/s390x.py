"""s390x under QEMU.

Register names: "ELF Application Binary Interface s390x Supplement", section "Registers". v<n>
covers f<n>, its more significant half.
"""

from verify.qemu.machines.model import PROGRAM_COUNTER, Machine, Place, words

_ACCESS = 8 * 17
_VECTORS = _ACCESS + 4 * 16
_CONTROL = _VECTORS + 16 * 32

MACHINE = Machine(
    name="s390x",
    emulator="qemu-s390x",
    places={
        **words([PROGRAM_COUNTER, *(f"r{n}" for n in range(16))], 0),
        **{f"a{n}": Place(_ACCESS + 4 * n, 32) for n in range(16)},
        **{f"v{n}": Place(_VECTORS + 16 * n, 128) for n in range(32)},
        "fpc": Place(_CONTROL + 4, 32),
        "cc": Place(_CONTROL + 15, 2),
    },
    size=_CONTROL + 16,
    return_address="r14",
    byte_order="big",
    fault_bytes=4096,
)
