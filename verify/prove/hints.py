"""Instructions that tell a cache of an address, and do nothing else.

Lifters leave them out, for nothing that can be read depends on them; but time does, on where they
point. So code that has one is refused.
"""

from __future__ import annotations

from verify.lift.engine import Engine
from verify.lift.machine import Unsupported
from verify.prove.cfg import ControlFlow

_MNEMONICS = (
    *("prefetch", "cldemote", "prfm", "prfum", "preld", "pfd"),
    *("dcbf", "dcbst", "dcbt", "icb"),
    "ori zero,",
)
"""How their text begins: of x86-64, arm64, LoongArch and s390x; of PowerPC; and of RISC-V, where
they are writes to x0 (The RISC-V Instruction Set Manual, Volume I, "Zicbop")."""


def refuse_hints(engine: Engine, flow: ControlFlow) -> None:
    """Raises Unsupported where there is one."""
    for block in flow.blocks.values():
        for at, text in engine.disassemble(block.address, block.size):
            if text.startswith(_MNEMONICS):
                raise Unsupported(
                    at, f"{text.split(maxsplit=1)[0]} only tells a cache of an address"
                )
