"""Programs with tables of alternatives, as a kernel's build makes them, in assembler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from binaries.patches import Edit
from tests.prove.adversaries import Adversary

if TYPE_CHECKING:
    from pathlib import Path

    from verify.target import Target

STEP = {
    "arm64": "\tst1\t{row0.16b, row1.16b, row2.16b, row3.16b}, [dst], #64\n",
    "loongarch64": "\taddi.d\tdst, dst, 64\n",
    "powerpc": "\taddi\tdst, dst, 64\n",
    "powerpc64": "\taddi\tdst, dst, 64\n",
    "powerpc64le": "\taddi\tdst, dst, 64\n",
    "riscv64": "\taddi\tdst, dst, 64\n",
    "s390x": "\tla\tdst, 64(dst)\n",
    "x86_64": "\tadd\t$64, dst\n",
}
"""The line of each looped program that goes on to the next block of dst."""

ENTRY = {
    "arm64": ".hword {feature}; .byte 662b-661b; .byte 664f-663f",
    "loongarch64": ".short {feature}; .byte 662b-661b; .byte 664f-663f",
    "riscv64": ".short 0; .short 664f-663f; .long {feature}",
    "s390x": ".long 0x10000000 + {feature}; .byte 662b-661b",
    "x86_64": ".long {feature}; .byte 662b-661b; .byte 664f-663f",
}
"""What follows the two offsets in an entry."""


def alternative(architecture: str, old: str, new: str, feature: int) -> str:
    """The lines `old`, which the kernel replaces by `new` where the processor has a feature."""
    body = f"661:\n{old}662:\n"
    replacement = f"663:\n{new}664:\n"
    if architecture.startswith("powerpc"):
        word = 4 if architecture == "powerpc" else 8
        return (
            f'{body}\t.pushsection __ftr_fixup,"a"\n\t.balign {word}\n665:\n'
            f"\t.{word}byte {1 << feature}, 0, 661b-665b, 662b-665b, 663f-665b, 664f-665b\n"
            f'\t.popsection\n\t.pushsection .text.alternatives,"ax"\n{replacement}'
            "\t.popsection\n"
        )
    rest = ENTRY[architecture].format(feature=feature)
    return (
        f'{body}\t.pushsection .altinstructions,"a"\n\t.long 661b-.\n\t.long 663f-.\n\t{rest}\n'
        f'\t.popsection\n\t.pushsection .altinstr_replacement,"ax"\n{replacement}\t.popsection\n'
    )


@dataclass(frozen=True)
class Patchable:
    """A looped program whose line `STEP` is replaced by `old`, and on a condition by `new`."""

    architecture: str
    old: str
    new: str
    feature: int = 26

    def target(self, directory: Path) -> Target:
        """Built there."""
        step = STEP[self.architecture]
        text = alternative(self.architecture, self.old, self.new, self.feature)
        program = f"{self.architecture}/looped"
        return Adversary("patchable", program, ("output",), (Edit(step, text),)).target(directory)


def with_step(architecture: str, step: int) -> str:
    """The line that goes on to the next block, by another number of bytes than 64."""
    return STEP[architecture].replace("64", str(step)).replace(f"{step}b", "64b")


def faulty(architecture: str) -> Patchable:
    """Right as in the file; when it is patched, later blocks are in the wrong place."""
    old = STEP[architecture]
    if architecture == "arm64":
        plain = old.replace(", #64", "")
        return Patchable(
            architecture, f"{plain}\tadd\tdst, dst, #64\n", f"{plain}\tadd\tdst, dst, #60\n"
        )
    return Patchable(architecture, old, with_step(architecture, 60))
