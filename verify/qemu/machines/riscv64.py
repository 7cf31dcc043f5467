"""RISC-V 64 under QEMU.

Register names: "RISC-V ABIs Specification", chapter "Calling Conventions".
"""

from verify.qemu.machines.model import PROGRAM_COUNTER, Machine, Place, words

_GENERAL = [
    PROGRAM_COUNTER,
    *("ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{n}" for n in range(8)),
    *(f"s{n}" for n in range(2, 12)),
    *(f"t{n}" for n in range(3, 7)),
]
_FLOATING = [
    *(f"ft{n}" for n in range(8)),
    *("fs0", "fs1"),
    *(f"fa{n}" for n in range(8)),
    *(f"fs{n}" for n in range(2, 12)),
    *(f"ft{n}" for n in range(8, 12)),
]

MACHINE = Machine(
    name="riscv64",
    emulator="qemu-riscv64",
    places={
        **words(_GENERAL, 0),
        **words(_FLOATING, 32),
        "fcsr": Place(8 * 64, 32),
    },
    size=8 * 65,
    return_address="ra",
)
