"""Instructions that lifters take for ones that do nothing, but which do something.

Some tell a cache of an address, so that time depends on it. Others change a register, by a
signature say, on processors where that is switched on. Code that has one is refused.
"""

from __future__ import annotations

from collections.abc import Container

from verify.lift.engine import Engine
from verify.lift.machine import Unsupported
from verify.prove.cfg import ControlFlow

_CACHES = (
    *("prefetch", "cldemote", "prfm", "prfum", "preld", "pfd"),
    *("dcbf", "dcbst", "dcbt", "icb"),
    "ori zero,",
)
"""How the text of those begins that tell a cache of an address: of x86-64, arm64, LoongArch and
s390x; of PowerPC; and of RISC-V, where they are writes to x0 (The RISC-V Instruction Set Manual,
Volume I, "Zicbop")."""
_SWITCHED = ("paci", "auti", "xpac", "hint #0x28", "rdssp")
"""The same of those that change a register where pointer authentication, or what CHKFEAT (hint 40)
tells of, or a shadow stack is switched on (Arm Architecture Reference Manual for A-profile, "HINT";
Intel 64 and IA-32 Architectures Software Developer's Manual, Volume 2, "RDSSPD")."""


def refuse_hints(engine: Engine, flow: ControlFlow, known: Container[int] = ()) -> None:
    """Raises Unsupported where there is one, but at addresses where it is known what it does."""
    for block in flow.blocks.values():
        for at, text in engine.disassemble(block.address, block.size):
            if at in known:
                continue
            name = text.split(maxsplit=1)[0]
            if text.startswith(_CACHES):
                raise Unsupported(at, f"{name} only tells a cache of an address")
            if text.startswith(_SWITCHED):
                raise Unsupported(at, f"{name} does something only where that is switched on")
