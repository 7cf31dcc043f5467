"""PowerPC 64 under QEMU.

Register names: "64-Bit ELF V2 ABI Specification: Power Architecture", section 2.2.2. Of the
vector-scalar registers f<n> is the more significant half of VSR n, vs<n>.low the less
significant half, v<n> is VSR 32 + n.
"""

from __future__ import annotations

from typing import Literal

from verify.qemu.machines.model import PROGRAM_COUNTER, Machine, Place, words

_GENERAL = [*(f"r{n}" for n in range(32)), PROGRAM_COUNTER, "lr", "ctr", "xer"]
_CONDITION = 8 * len(_GENERAL)
_VECTORS = _CONDITION + 8


def machine(
    name: str, emulator: str, byte_order: Literal["little", "big"], runner: str = ""
) -> Machine:
    """PowerPC 64 in one byte order."""
    high, low = (8, 0) if byte_order == "little" else (0, 8)
    return Machine(
        name=name,
        emulator=emulator,
        places={
            **words(_GENERAL, 0),
            "cr": Place(_CONDITION + (0 if byte_order == "little" else 4), 32),
            **{f"f{n}": Place(_VECTORS + 16 * n + high, 64) for n in range(32)},
            **{f"vs{n}.low": Place(_VECTORS + 16 * n + low, 64) for n in range(32)},
            **{f"v{n}": Place(_VECTORS + 16 * (n + 32), 128) for n in range(32)},
        },
        size=_VECTORS + 16 * 64,
        return_address="lr",
        byte_order=byte_order,
        runner=runner,
    )


MACHINE = machine("powerpc64", "qemu-ppc64", "big")
