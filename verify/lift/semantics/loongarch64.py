"""What is particular to LoongArch under SLEIGH: faults of basic instructions, and its vectors of
128 bits, LSX, which SLEIGH (pypcode 4.0.1) decodes and leaves opaque."""

from __future__ import annotations

from verify.lift.semantics import (
    Semantics,
    loongarch64_scalar,
    lsx_arithmetic,
    lsx_lanes,
    lsx_memory,
)

_LSX = {**lsx_arithmetic.MEANINGS, **lsx_lanes.MEANINGS, **lsx_memory.MEANINGS}

SEMANTICS = {
    **loongarch64_scalar.SEMANTICS,
    **{
        mnemonic: Semantics(mnemonic, run, f"Unofficial LoongArch Intrinsics Guide, {mnemonic}", "")
        for mnemonic, run in _LSX.items()
    },
}

UNDEFINED_ABOVE = tuple(f"v{n}" for n in range(32))
"""An instruction that writes a floating-point register leaves the other half of the vector register
undefined."""
