"""Getrandoms that are wrong only where the state is zeroed, or a handler calls, in the midst of a
call; most of them in one case among very many, one of those that `FEW` lets through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.getrandom.adversaries import Adversary
from tests.history.programs import LAYOUTS
from verify.getrandom.claims import Claim
from verify.history import program_in
from verify.image import open_images

if TYPE_CHECKING:
    from pathlib import Path

    from verify.history import Program

_CHECK = "\t\tserved = ONCE(state->generation) == ONCE(rng->generation);\n"
_GENERATE = "\t\tgenerate(state, to, size, counter);\n"
_CLAIM = "\tONCE(state->in_use) = 1;\n"
_LOOP = "\tfor (int attempt = 0; attempt < ATTEMPTS && !served; attempt++) {\n"
_REFRESH = "\t\tif (!refresh(rng, state))\n\t\t\tbreak;\n"
_TAKE = "\tword pos = state->pos, count = BATCH - pos;\n"


@dataclass(frozen=True)
class Disturbance:
    """`adversary` breaks its property when what `shown_by` names happens in the midst of a call
    that finds that `pos`."""

    adversary: Adversary
    shown_by: str
    pos: int = 40

    @property
    def name(self) -> str:
        """That of the adversary."""
        return self.adversary.name

    def program(self, directory: Path, architecture: str) -> Program:
        """Built there, ready to be executed."""
        (image,) = open_images(self.adversary.path(directory, architecture))
        layout = LAYOUTS[f"{architecture}/getrandom"]
        return program_in(image, layout)


DISTURBANCES = (
    Disturbance(
        Adversary(
            "pos-read-twice",
            Claim.FORK,
            _TAKE,
            "\tword pos = ONCE(state->pos), count = BATCH - ONCE(state->pos);\n",
        ),
        "wiped with refill",
        pos=92,
    ),
    Disturbance(
        Adversary(
            "returns-where-pos-changes",
            Claim.FORK,
            _GENERATE,
            "\t\tu8 was = ONCE(state->pos);\n"
            "\t\tif (ONCE(state->pos) < was) {\n\t\t\tserved = 1;\n\t\t\tbreak;\n\t\t}\n"
            f"{_GENERATE}",
        ),
        "wiped with refill",
    ),
    Disturbance(
        Adversary(
            "more-taken-where-pos-changes",
            Claim.FORK,
            "\tif (count > size)\n\t\tcount = size;\n",
            "\tif (count > size)\n\t\tcount = size;\n"
            "\tif (ONCE(state->pos) < pos)\n\t\tcount = size;\n",
        ),
        "wiped with refill",
    ),
    Disturbance(
        Adversary(
            "checked-before-the-last-use",
            Claim.FORK,
            f"{_GENERATE}\t\tBARRIER();\n{_CHECK}",
            f"\t\tif (size == 200)\n\t{_CHECK}{_GENERATE}\t\tBARRIER();\n"
            f"\t\tif (size != 200)\n\t{_CHECK}",
        ),
        "wiped with refill",
    ),
    Disturbance(
        Adversary(
            "pos-read-before-the-claim",
            Claim.REENTRY,
            _CLAIM,
            "\tu8 early = size == 200 ? ONCE(state->pos) : 0;\n"
            f"{_CLAIM}\tif (size == 200)\n\t\tONCE(state->pos) = early;\n",
        ),
        "called again with refill",
    ),
    Disturbance(
        Adversary(
            "claimed-late",
            Claim.REENTRY,
            f"{_CLAIM}{_LOOP}{_REFRESH}",
            f"\tif ((size & 7) != 4)\n\t{_CLAIM}{_LOOP}{_REFRESH}\t{_CLAIM}",
        ),
        "called again with reseed",
    ),
    Disturbance(
        Adversary(
            "released-before-the-last-use",
            Claim.REENTRY,
            _GENERATE,
            f"\t\tif (size == 200)\n\t\t\tONCE(state->in_use) = 0;\n{_GENERATE}",
        ),
        "called again with refill",
    ),
    Disturbance(
        Adversary(
            "used-behind-the-release",
            Claim.REENTRY,
            "\tONCE(state->in_use) = 0;\n\treturn served;\n",
            "\tu8 last = ONCE(state->pos);\n\tONCE(state->in_use) = 0;\n\tif (size == 200)\n"
            "\t\tONCE(state->pos) = last;\n\treturn served;\n",
        ),
        "called again with refill",
    ),
)
