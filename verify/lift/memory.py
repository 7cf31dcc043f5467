"""Memory as regions with symbolic bases, and the record of every access.

An address is decomposed into a linear form and mapped to (region, index, offset) before it
means anything; angr's own concretisation of addresses is never reached. An address that does
not normalise is recorded as such: the value read is a fresh variable, and a write through it
marks the memory as no longer known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from angr import claripy

from verify.lift.cells import Cells
from verify.terms import Linear, Term

CODE = "code"
"""Name of the region of the image's own read-only bytes; its base is zero."""
STACK = "stack"
"""Name of the region around the stack pointer at entry; its base is that pointer."""


@dataclass(frozen=True)
class Place:
    """A normalised address: `offset` bytes plus `index` (a linear form without constant) behind
    the base of `region`."""

    region: str
    index: Linear
    offset: int


@dataclass(frozen=True)
class Access:
    """One load or store: who, where, how many bytes, which value.

    `value` is what was stored or loaded, `place` None where the address does not normalise.
    `step` is the number of instructions executed before this one on the path.
    """

    kind: Literal["read", "write"]
    instruction: int
    step: int
    address: Term
    place: Place | None
    size: int
    value: Term


class RegionMemory:
    """The bytes of all regions on one path."""

    def __init__(
        self,
        little: bool,
        bases: Mapping[Term, str],
        code: Callable[[int, int], bytes | None],
        contents: Mapping[str, tuple[tuple[int, Any], ...]],
    ) -> None:
        self._little = little
        self._bases = bases
        self._code = code
        self._cells: dict[tuple[str, Linear], Cells] = {}
        self._forgotten: dict[str, int] = {}
        self.unknown_write = False
        for region, cells in contents.items():
            width = next(base.width for base, name in bases.items() if name == region)
            for offset, value in cells:
                self.region(region, Linear(width, 0)).write(offset, value)

    def copy(self) -> RegionMemory:
        """An independent copy."""
        twin = RegionMemory(self._little, self._bases, self._code, {})
        twin._cells = {key: cells.copy() for key, cells in self._cells.items()}
        twin._forgotten = dict(self._forgotten)
        twin.unknown_write = self.unknown_write
        return twin

    def region(self, region: str, index: Linear) -> Cells:
        """The bytes of a region behind its base plus `index`."""
        key = (region, index)
        if key not in self._cells:
            times = self._forgotten.get(region, 0)
            name_of_region = f"{region}#{times}" if times else region
            prefix = name_of_region + ("" if index.is_constant else f"+{index.term()!r}")

            def initial(offset: int, size: int) -> tuple[int, int, Any]:
                name = f"{prefix}[{offset}:{offset + size}]"
                return offset, size, claripy.BVS(name, 8 * size, explicit_name=True)

            self._cells[key] = Cells(self._little, initial)
        return self._cells[key]

    def normalise(self, address: Linear) -> Place | None:
        """Region, index and offset of an address; None where it belongs to no single region."""
        found = [atom for atom in address.coefficients if atom in self._bases]
        if not found:
            if address.is_constant:
                return Place(CODE, Linear(address.width, 0), address.constant)
            return None
        if len(found) > 1 or address.coefficients[found[0]] != 1:
            return None
        index = address.without(found[0])
        offset = index.constant
        index = Linear(index.width, 0, index.coefficients)
        return Place(self._bases[found[0]], index, offset)

    def _aliased(self, place: Place) -> bool:
        """Whether the region is also known under another index, so that bytes may coincide."""
        return any(region == place.region and index != place.index for region, index in self._cells)

    def load(self, place: Place | None, size: int, fresh: Callable[[], Any]) -> Any:
        """The value of `size` bytes, in the machine's byte order."""
        if place is None or self.unknown_write:
            return fresh()
        if place.region == CODE:
            data = self._code(place.offset, size)
            if data is None:
                return fresh()
            order: Literal["little", "big"] = "little" if self._little else "big"
            return claripy.BVV(int.from_bytes(data, order), 8 * size)
        if self._aliased(place):
            return fresh()
        return self.region(place.region, place.index).read(place.offset, size)

    def store(self, place: Place | None, value: Any) -> None:
        """Store a value in the machine's byte order."""
        if place is None or place.region == CODE or self._aliased(place):
            self.unknown_write = True
            return
        self.region(place.region, place.index).write(place.offset, value)

    def cells(self) -> Mapping[tuple[str, Linear], Cells]:
        """What is known of each region, by region name and index."""
        return self._cells

    def forget(self, region: str) -> None:
        """Drop what is known of a region's contents: what is there now is something else."""
        self._forgotten[region] = self._forgotten.get(region, 0) + 1
        for key in [key for key in self._cells if key[0] == region]:
            del self._cells[key]
