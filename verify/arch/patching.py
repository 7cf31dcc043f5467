"""What the kernel may do to the code of a vDSO when it boots, as each architecture describes it.

Linux keeps tables of alternatives in the image: each entry names a piece of code, another piece
that replaces it, and the processor's feature that decides. The sections and entries are those of
`struct alt_instr` (`struct alt_entry` on RISC-V, `struct fixup_entry` on PowerPC) in the kernel's
architecture headers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Values = Mapping[str, int]
"""The fields of one entry by name, addresses made absolute."""


@dataclass(frozen=True)
class Condition:
    """When an alternative is applied: all `features` are as stated; with `negated`, otherwise.

    Without features it is always applied, or never. `refused` says why the entry cannot be applied
    here as the kernel would; empty if it can.
    """

    features: tuple[tuple[str, bool], ...] = ()
    negated: bool = False
    refused: str = ""

    def holds(self, state: Mapping[str, bool]) -> bool:
        """Whether it is applied where the features are as in `state`, which has all of them."""
        return all(state[name] == wanted for name, wanted in self.features) != self.negated

    def __str__(self) -> str:
        """In words, as in `facility 148` or `not cpu feature bit 50`."""
        if not self.features:
            return "never" if self.negated else "always"
        if len(self.features) == 1:
            ((name, wanted),) = self.features
            return name if wanted != self.negated else f"not {name}"
        text = " and ".join(name if wanted else f"not {name}" for name, wanted in self.features)
        return f"not ({text})" if self.negated else text


@dataclass(frozen=True)
class Layout:
    """The fields of one entry in order: name and `struct` code, no padding between them.

    `start` is the address of the code and `replacement` that of what replaces it, each relative
    to its own field or to the entry. Their sizes in bytes are `length` and `replacement_length`
    (as `length` without such a field), or follow from the addresses `end` and `replacement_end`.
    `constant` is the replacement where all entries have the same one. `condition` reads the rest.
    """

    fields: tuple[tuple[str, str], ...]
    condition: Callable[[Values], Condition]
    relative_to: Literal["field", "entry"] = "field"
    constant: bytes = b""

    @property
    def size(self) -> int:
        """The size of an entry in bytes."""
        return struct.calcsize("<" + "".join(code for _, code in self.fields))


@dataclass(frozen=True)
class Table:
    """The section of a table, and the layouts that its entries have had, the newest first."""

    section: str
    layouts: tuple[Layout, ...]


@dataclass(frozen=True)
class Patching:
    """How the kernel patches code of an architecture.

    `nops` are what a replacement shorter than the code is filled up with, the longest first.
    `relocated` tells whether the kernel changes the instruction that some bytes begin with when it
    puts it elsewhere, or may refuse to: its effect depends on its address. `extends` says that some
    kernels extend consecutive entries for code at one address to the longest of them.
    """

    tables: tuple[Table, ...]
    nops: tuple[bytes, ...]
    relocated: Callable[[bytes], bool]
    extends: bool = False


def words_matching(
    byte_order: Literal["little", "big"], *patterns: tuple[int, int]
) -> Callable[[bytes], bool]:
    """Whether the 32-bit word at the start of some bytes has, under one of the masks, its value.

    `patterns` are (mask, value).
    """

    def matches(code: bytes) -> bool:
        word = int.from_bytes(code[:4], byte_order)
        return any(word & mask == value for mask, value in patterns)

    return matches
