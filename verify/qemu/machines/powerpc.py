"""PowerPC 32, big-endian, under QEMU: a 7457, which has AltiVec (v<n>) and no VSX.

Register names: "Power Architecture 32-bit Application Binary Interface Supplement 1.0 - Linux &
Embedded", section 3.2.1. The messages have words of 64 bits, of which these registers are the
less significant half.
"""

from verify.qemu.machines.model import NARROW, PROGRAM_COUNTER, Machine, Place

_GENERAL = [*(f"r{n}" for n in range(32)), PROGRAM_COUNTER, "lr", "ctr", "xer", "cr"]
_VECTORS = 8 * (len(_GENERAL) + 1)
_FLOATING = _VECTORS + 16 * 32

MACHINE = Machine(
    name="powerpc",
    emulator="qemu-ppc",
    places={
        **{name: Place(8 * n + 4, 32) for n, name in enumerate(_GENERAL)},
        **{f"v{n}": Place(_VECTORS + 16 * n, 128) for n in range(32)},
        **{f"f{n}": Place(_FLOATING + 8 * n, 64) for n in range(32)},
    },
    size=_FLOATING + 8 * 32,
    return_address="lr",
    reserved=False,
    byte_order="big",
    space=NARROW,
    processor="7457",
)
