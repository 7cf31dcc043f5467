"""Instructions that lifters take for ones that do nothing, but which do something.

Some tell a cache or a predictor of an address, so that time depends on it. Others change a register
or trap, everywhere or on processors where something is switched on. Code that has one is refused.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from verify.lift.engine import Engine
from verify.lift.machine import Unsupported
from verify.prove.cfg import ControlFlow

_TOLD: Mapping[str, tuple[str, ...]] = {
    "arm64": ("prfm", "prfum", "dc c", "ic "),
    "loongarch64": ("preld",),
    "powerpc": ("dcbf", "dcbst", "dcbt", "dst", "icb"),
    "riscv64": ("ori zero,",),
    "s390x": ("pfd", "bpp", "bprp"),
    "x86_64": ("prefetch", "cldemote", "clwb"),
}
"""By instruction set how the text of those begins that tell of an address; RISC-V's are writes to
x0 (The RISC-V Instruction Set Manual, Volume I, "Zicbop")."""
_LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "arm64": (
        *("paci", "auti", "xpac", "hint", "wfe", "wfi"),
        *("ldr xzr, #", "ldr wzr, #", "ldrsw xzr, #"),
    ),
    "powerpc": ("wait", "tabort"),
    "riscv64": ("wfi",),
    "x86_64": ("rdssp", "bnd", "fxrstor"),
}
"""The same of others of which VEX leaves out what they do. Those of arm64 sign, wait (Arm
Architecture Reference Manual for A-profile, "HINT"), or read near themselves and forget it."""
_NAMELESS = ".byte"


def refuse_hints(
    instruction_set: str, engine: Engine, flow: ControlFlow, known: Container[int] = ()
) -> None:
    """Raises Unsupported where there is one, or one without a name, but at addresses where it is
    known what it does."""
    told = _TOLD.get(instruction_set, ())
    left_out = (*_LEFT_OUT.get(instruction_set, ()), _NAMELESS)
    for block in flow.blocks.values():
        for at, text in engine.disassemble(block.address, block.size):
            if at in known:
                continue
            name = text.partition(" ")[0]
            if text.startswith(told):
                raise Unsupported(at, f"{name} only tells of an address")
            if text.startswith(left_out):
                raise Unsupported(at, f"the lifter leaves out what {name} does")
