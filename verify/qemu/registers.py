"""The registers of each architecture, and where the runner's messages hold them.

Names are those of the ABIs: "ELF for the LoongArch Architecture psABI", section "Register
Convention"; "64-Bit ELF V2 ABI Specification: Power Architecture", section 2.2.2. For the parts of
PowerPC's vector-scalar registers: f<n> is the more significant half of VSR n, vs<n>.low the less
significant half, v<n> is VSR 32 + n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM_COUNTER = "pc"


@dataclass(frozen=True)
class Place:
    """Where a register lies in a context: the first byte and the width in bits, little-endian."""

    offset: int
    bits: int

    @property
    def end(self) -> int:
        """The first byte behind the register."""
        return self.offset + (self.bits + 7) // 8


@dataclass(frozen=True)
class Machine:
    """What is particular to an architecture: its emulator and the layout of a context.

    `size` is the size of a context in bytes, `return_address` the register that holds the return
    address at entry, `constant` the names of registers that cannot be set.
    """

    name: str
    emulator: str
    places: Mapping[str, Place]
    size: int
    return_address: str
    constant: frozenset[str] = frozenset()


def _words(names: list[str], first: int) -> dict[str, Place]:
    return {name: Place(8 * (first + n), 64) for n, name in enumerate(names)}


_LOONGARCH64_GENERAL = [
    *("zero", "ra", "tp", "sp"),
    *(f"a{n}" for n in range(8)),
    *(f"t{n}" for n in range(9)),
    *("r21", "fp"),
    *(f"s{n}" for n in range(9)),
    PROGRAM_COUNTER,
]
_LOONGARCH64_FLOATING = [
    *(f"fa{n}" for n in range(8)),
    *(f"ft{n}" for n in range(16)),
    *(f"fs{n}" for n in range(8)),
]
_LOONGARCH64_FLAGS = 8 * 65

_POWERPC64LE_GENERAL = [*(f"r{n}" for n in range(32)), PROGRAM_COUNTER, "lr", "ctr", "xer"]
_POWERPC64LE_VECTORS = 8 * 37

MACHINES = {
    machine.name: machine
    for machine in (
        Machine(
            name="loongarch64",
            emulator="qemu-loongarch64",
            places={
                **_words(_LOONGARCH64_GENERAL, 0),
                **_words(_LOONGARCH64_FLOATING, 33),
                **{f"fcc{n}": Place(_LOONGARCH64_FLAGS + n, 1) for n in range(8)},
                "fcsr": Place(8 * 66, 32),
            },
            size=8 * 67,
            return_address="ra",
            constant=frozenset({"zero"}),
        ),
        Machine(
            name="powerpc64le",
            emulator="qemu-ppc64le",
            places={
                **_words(_POWERPC64LE_GENERAL, 0),
                "cr": Place(8 * 36, 32),
                **{f"f{n}": Place(_POWERPC64LE_VECTORS + 16 * n + 8, 64) for n in range(32)},
                **{f"vs{n}.low": Place(_POWERPC64LE_VECTORS + 16 * n, 64) for n in range(32)},
                **{f"v{n}": Place(_POWERPC64LE_VECTORS + 16 * (n + 32), 128) for n in range(32)},
            },
            size=8 * (37 + 128),
            return_address="lr",
        ),
    )
}
