"""LoongArch 64 under QEMU.

Register names: "ELF for the LoongArch Architecture psABI", section "Register Convention"; of the
vector registers, vr<n>.high is the half that is no floating-point register. An emulator without
LSX has no such halves: they are then what they were set to.
"""

from verify.qemu.machines.model import PROGRAM_COUNTER, Extension, Machine, Place, words

_GENERAL = [
    *("zero", "ra", "tp", "sp"),
    *(f"a{n}" for n in range(8)),
    *(f"t{n}" for n in range(9)),
    *("r21", "fp"),
    *(f"s{n}" for n in range(9)),
    PROGRAM_COUNTER,
]
_FLOATING = [
    *(f"fa{n}" for n in range(8)),
    *(f"ft{n}" for n in range(16)),
    *(f"fs{n}" for n in range(8)),
]
_VECTORS = 8 * 33
_FLAGS = _VECTORS + 16 * 32

MACHINE = Machine(
    name="loongarch64",
    emulator="qemu-loongarch64",
    places={
        **words(_GENERAL, 0),
        **{name: Place(_VECTORS + 16 * n, 64) for n, name in enumerate(_FLOATING)},
        **{f"vr{n}.high": Place(_VECTORS + 16 * n + 8, 64) for n in range(32)},
        **{f"fcc{n}": Place(_FLAGS + n, 1) for n in range(8)},
        "fcsr": Place(_FLAGS + 8, 32),
    },
    size=8 * 99,
    return_address="ra",
    constant=frozenset({"zero"}),
    extension=Extension("LSX", (8, 2)),
)
