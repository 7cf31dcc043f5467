"""AArch64 under QEMU.

Register names: "Procedure Call Standard for the Arm 64-bit Architecture (AArch64)", section
"Machine Registers". Of v8 to v15 d<n> is the less significant half, v<n>.high the more significant
one. nzcv has the condition flags in the bits in which the register NZCV has them.
"""

from __future__ import annotations

from typing import Literal

from verify.qemu.machines.model import PROGRAM_COUNTER, Machine, Place, words

_GENERAL = [*(f"x{n}" for n in range(31)), "sp", PROGRAM_COUNTER]
_FLAGS = 8 * len(_GENERAL)
_VECTORS = _FLAGS + 8
_STATUS = _VECTORS + 16 * 32
_SPLIT = range(8, 16)


def machine(name: str, emulator: str, byte_order: Literal["little", "big"]) -> Machine:
    """AArch64 in one byte order of its data, which is that of the runner's messages."""
    low, high = (0, 8) if byte_order == "little" else (8, 0)
    word = 0 if byte_order == "little" else 4
    return Machine(
        name=name,
        emulator=emulator,
        places={
            **words(_GENERAL, 0),
            "nzcv": Place(_FLAGS + word, 32),
            **{f"v{n}": Place(_VECTORS + 16 * n, 128) for n in range(32) if n not in _SPLIT},
            **{f"d{n}": Place(_VECTORS + 16 * n + low, 64) for n in _SPLIT},
            **{f"v{n}.high": Place(_VECTORS + 16 * n + high, 64) for n in _SPLIT},
            "fpcr": Place(_STATUS + word, 32),
            "fpsr": Place(_STATUS + 8 + word, 32),
            "tpidr_el0": Place(_STATUS + 16, 64),
        },
        size=_STATUS + 8 * 3,
        return_address="x30",
        byte_order=byte_order,
        # Each process has keys of its own, and an execution may go on in another one.
        processor="max,pauth=off",
    )


MACHINE = machine("arm64", "qemu-aarch64", "little")
