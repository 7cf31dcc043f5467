"""PowerPC 64, little-endian, under QEMU.

Register names: "64-Bit ELF V2 ABI Specification: Power Architecture", section 2.2.2. Of the
vector-scalar registers f<n> is the more significant half of VSR n, vs<n>.low the less
significant half, v<n> is VSR 32 + n.
"""

from verify.qemu.machines.model import PROGRAM_COUNTER, Machine, Place, words

_GENERAL = [*(f"r{n}" for n in range(32)), PROGRAM_COUNTER, "lr", "ctr", "xer"]
_VECTORS = 8 * 37

MACHINE = Machine(
    name="powerpc64le",
    emulator="qemu-ppc64le",
    places={
        **words(_GENERAL, 0),
        "cr": Place(8 * 36, 32),
        **{f"f{n}": Place(_VECTORS + 16 * n + 8, 64) for n in range(32)},
        **{f"vs{n}.low": Place(_VECTORS + 16 * n, 64) for n in range(32)},
        **{f"v{n}": Place(_VECTORS + 16 * (n + 32), 128) for n in range(32)},
    },
    size=8 * (37 + 128),
    return_address="lr",
)
