"""LoongArch 64 under QEMU.

Register names: "ELF for the LoongArch Architecture psABI", section "Register Convention".
"""

from verify.qemu.machines.model import PROGRAM_COUNTER, Machine, Place, words

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
_FLAGS = 8 * 65

MACHINE = Machine(
    name="loongarch64",
    emulator="qemu-loongarch64",
    places={
        **words(_GENERAL, 0),
        **words(_FLOATING, 33),
        **{f"fcc{n}": Place(_FLAGS + n, 1) for n in range(8)},
        "fcsr": Place(8 * 66, 32),
    },
    size=8 * 67,
    return_address="ra",
    constant=frozenset({"zero"}),
)
