"""Programs that are made to be proved although they are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from binaries.build import ROOT, build
from binaries.patches import Edit, Fault
from binaries.products import load_builds, shared_object
from tests.witness.programs import built
from verify.target import Target


@dataclass(frozen=True)
class Adversary:
    """A good program with edits, and the properties that it breaks.

    `shown` tells whether calls of the function with the usual inputs show it.
    """

    name: str
    program: str
    breaks: tuple[str, ...]
    edits: tuple[Edit, ...]
    shown: bool = True

    def target(self, directory: Path) -> Target:
        """Built there."""
        architecture, base = self.program.split("/")
        fault = Fault(self.name, architecture, base, self.breaks, self.name, self.edits)
        path = directory / f"{self.name}.so"
        builds = load_builds(ROOT / "binaries")
        product = shared_object(builds[architecture], base, fault.path, fault=fault)
        path.write_bytes(build(product))
        return built(path)


_SAVED = "\tstd\t%r31, SLOT(31)(%r1)\n"

_COUNTER_SAVED = "\tst.d\tcounter, $sp, FRAME_COUNTER\n"


def _secret_for_five_blocks(branch: str) -> str:
    """x2 is a key word if there are five blocks, else zero, on both ways of a branch on that."""
    return (
        "\taddi.d\tx0, nblocks, -5\n"
        "\tsltui\tx1, x0, 1\n"
        "\tsub.d\tx1, $zero, x1\n"
        "\tld.w\tx2, key, 0\n"
        "\tand\tx2, x2, x1\n"
        f"\t{branch}\tx0, 1f\n"
        "\tmove\tx3, $zero\n"
        "1:\n"
    )


# The same value on two paths is public on one of them only, whichever is looked at first.
_ON_ONE_PATH = tuple(
    adversary
    for branch in ("beqz", "bnez")
    for adversary in (
        Adversary(
            f"key-word-on-the-stack-for-five-blocks-{branch}",
            "loongarch64/looped",
            ("stack", "secrecy"),
            (
                Edit(
                    _COUNTER_SAVED,
                    _secret_for_five_blocks(branch)
                    + "\tst.d\tx2, $sp, FRAME_COUNTER\n"
                    + _COUNTER_SAVED,
                ),
            ),
            shown=False,
        ),
        Adversary(
            f"address-depends-on-the-key-for-five-blocks-{branch}",
            "loongarch64/looped",
            ("timing",),
            (
                Edit(
                    _COUNTER_SAVED,
                    _secret_for_five_blocks(branch)
                    + "\tandi\tx2, x2, 16\n"
                    + "\tadd.d\tx2, x2, key\n"
                    + "\tld.w\tx3, x2, 0\n"
                    + _COUNTER_SAVED,
                ),
            ),
            shown=False,
        ),
    )
)

ADVERSARIES = (
    *_ON_ONE_PATH,
    Adversary(
        "remembers-what-was-in-dst",
        "powerpc64le/looped",
        ("output",),
        (
            Edit(
                _SAVED,
                _SAVED + "\tstd\tdst, SLOT(13)(%r1)\n\tlwz\tx0, 0(dst)\n\tstw\tx0, SLOT(12)(%r1)\n",
            ),
            Edit(
                ".Lblock:\n",
                ".Lblock:\n"
                "\tld\tx0, SLOT(13)(%r1)\n"
                "\tlwz\tx0, 0(x0)\n"
                "\tlwz\tx1, SLOT(12)(%r1)\n"
                "\tcmplw\tx0, x1\n"
                "\tbeq\t1f\n"
                "\taddi\tk0, k0, 1\n"
                "1:\n",
            ),
        ),
    ),
    # The refill's key lies at dst + 96, in the block behind.
    Adversary(
        "writes-ahead-into-the-key",
        "powerpc64le/unrolled",
        ("output",),
        (
            Edit(
                "\tstw\tx15, 60(dst)\n",
                "\tstw\tx15, 60(dst)\n"
                "\taddi\tscratch, dst, 64\n"
                "\tcmpld\t%cr7, scratch, end\n"
                "\tbeq\t%cr7, 1f\n"
                "\tli\tscratch, 0\n"
                "\tstw\tscratch, 96(dst)\n"
                "1:\n",
            ),
        ),
    ),
    Adversary(
        "clears-the-last-block-first",
        "powerpc64le/unrolled",
        ("output",),
        (
            Edit(
                "\tadd\tend, end, dst\n",
                "\tadd\tend, end, dst\n"
                "\taddi\tscratch, dst, 64\n"
                "\tcmpld\t%cr7, scratch, end\n"
                "\tbeq\t%cr7, 1f\n"
                "\tli\tscratch, 0\n"
                "\tstw\tscratch, 96(dst)\n"
                "1:\n",
            ),
        ),
    ),
)
