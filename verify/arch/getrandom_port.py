"""What a getrandom depends on besides how Linux is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from verify.arch.kerneldata import Layout, Release, SharedPages

OWN_PAGE: Release = (6, 15)
"""From this release on the data have a page of their own on all architectures."""


@dataclass(frozen=True)
class GetrandomPort:
    """One architecture's port of the vDSO's getrandom, as kernels have it by default.

    `page_bytes` is the size of a page; the data page of the kernel's generator lies `data_page`
    bytes in front of the image, in older kernels where `shared` says. `barriers` are the (mask,
    value) of instructions that order accesses and do nothing else. `extends` is how a caller
    extends an unsigned int to a register.
    `call_alignment` is the alignment in bytes that the stack pointer has where a function of the
    image is entered, as seen from the entry of getrandom; None for that of the ABI. `at_entry` is
    what storages hold at entry by the ABI.

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
    at_entry: tuple[tuple[str, int], ...] = ()
    shared: tuple[SharedPages, ...] = ()

    def layout(self, page_bytes: int | None = None, release: Release = OWN_PAGE) -> Layout | None:
        """Where a release of Linux has the data, with pages of that size; None where that is not
        known."""
        pages = self.page_bytes if page_bytes is None else page_bytes
        if release >= OWN_PAGE:
            return Layout(pages, self.data_page)
        found = (one for one in self.shared if one.first <= release <= one.last)
        return next((one.layout(pages) for one in found), None)

    def is_barrier(self, instruction: int) -> bool:
        """Whether an encoding is that of a barrier."""
        return any(instruction & mask == value for mask, value in self.barriers)
