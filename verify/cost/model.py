"""What is said of the cost of a program."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from specs.opaque_state import BATCH_BYTES

if TYPE_CHECKING:
    from verify.arch import Architecture
    from verify.cost.formula import Formulas
    from verify.cost.measure import Served

LENGTHS = (4, 8, 16, 32, 256)
"""Lengths of calls in bytes for which the mean is told: a word, small keys, and one that needs
blocks."""
POSITIONS = range(BATCH_BYTES + 1)


@dataclass(frozen=True)
class Cost:
    """The instructions that calls of one getrandom execute where they need no system call.

    `source` and `path` say where the image was found, `image_sha256` is its hash, `function` the
    name of the exported function. `executor` is QEMU's version line; `page_bytes` and `data_page`
    are as in `verify.history.Program`. `patched` names the conditions on which the kernel has put
    in some of the instructions executed. `by_call` has each call that was executed, LENGTHS at each
    of POSITIONS among them; `formulas` agree with all of it. `aligned_only` says that the numbers
    are others where the buffer is at an odd address.
    """

    source: str
    path: tuple[str, ...]
    image_sha256: str
    architecture: Architecture
    function: str
    executor: str
    page_bytes: int
    data_page: int
    patched: tuple[str, ...]
    by_call: dict[Served, int]
    formulas: Formulas
    aligned_only: bool

    def mean(self, length: int) -> Fraction:
        """The mean for a length over all positions."""
        return Fraction(sum(self.by_call[length, pos] for pos in POSITIONS), len(POSITIONS))
