"""What a getrandom depends on besides how Linux is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class GetrandomPort:
    """One architecture's port of the vDSO's getrandom, as kernels have it by default.

    `page_bytes` is the size of a page; the data page of the kernel's generator lies `data_page`
    bytes in front of the image. `barriers` are the (mask, value) of instructions that order
    accesses and do nothing else. `extends` is how a caller extends an unsigned int to a register.
    `call_alignment` is the alignment in bytes that the stack pointer has where a function of the
    image is entered, as seen from the entry of getrandom; None for that of the ABI.

    `pushes` are the encodings of instructions that push a register, named with them, on the shadow
    stack; `checks` those of instructions that trap unless a register holds what was pushed last,
    and take that away. `signs` are those of instructions that sign an address in a register under
    the stack pointer, `authenticates` those that give the address back that was signed under it,
    and one that faults for anything else.
    """

    page_bytes: int
    data_page: int
    barriers: tuple[tuple[int, int], ...]
    extends: Literal["sign", "zero", "not"]
    pushes: tuple[tuple[int, str], ...] = ()
    checks: tuple[tuple[int, str], ...] = ()
    signs: tuple[tuple[int, str], ...] = ()
    authenticates: tuple[tuple[int, str], ...] = ()
    call_alignment: int | None = None

    def is_barrier(self, instruction: int) -> bool:
        """Whether an encoding is that of a barrier."""
        return any(instruction & mask == value for mask, value in self.barriers)
