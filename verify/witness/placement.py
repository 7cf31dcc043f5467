"""Where the regions of the contract lie in memory, and what surrounds them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specs.contract import BLOCK_BYTES, REFILL_KEY_OFFSET, REGIONS
from verify import qemu
from verify.arch import ON_STACK
from verify.witness.inputs import generator

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from verify.arch import Architecture
    from verify.witness.inputs import Inputs

STACK = "stack"
"""The region at the stack pointer; its offsets count from the stack pointer at entry."""

GUARD = 512
"""At least this many random bytes lie mapped around every region."""

STACK_DEPTH = 8192
"""At least this many bytes below the stack pointer are mapped, ..."""

DEEP_STACK = 1 << 16
"""... and so many for a function that turns out to need more."""

MOST_OFFSET = 1 << 20
"""How far from a region the edge of what is mapped may be put, in bytes."""

# By pointer width. Far apart, so that no two regions touch and addresses have high bits set.
_BASES = {
    64: {
        "dst": 0x0200_0000_0000,
        "key": 0x0400_0000_0000,
        "counter": 0x0600_0000_0000,
        STACK: 0x0C00_0000_0000,
    },
    32: {
        "dst": 0x1000_0000,
        "key": 0x6000_0000,
        "counter": 0x8000_0000,
        STACK: 0xC000_0000,
    },
}
_RANDOM_PAGES = {64: 1 << 24, 32: 1 << 14}
# Alignment of u8, u32, u32 (specs.contract).
_ALIGNMENTS = {"dst": 1, "key": 4, "counter": 4}


@dataclass(frozen=True)
class Edge:
    """Put the region so that its byte at `offset` is on a page that is not mapped.

    The pages on the region's side of that byte are mapped. `offset` is outside the region, and
    not negative for the stack.
    """

    region: str
    offset: int


@dataclass(frozen=True)
class Arena:
    """Consecutive whole pages with a region in them.

    `address` is the first one, `data` the contents at entry, `start` and `size` are the region's,
    in bytes; the stack's is what a return takes away. `writable` are the (first address, size) that
    the function may write at some time.
    """

    name: str
    address: int
    data: bytes
    start: int
    size: int
    writable: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        """The first address behind the pages."""
        return self.address + len(self.data)

    def with_bytes(self, address: int, content: bytes) -> Arena:
        """The arena with `content` at the address."""
        at = address - self.address
        return replace(self, data=self.data[:at] + content + self.data[at + len(content) :])


@dataclass(frozen=True)
class Placement:
    """All memory but the code. `addresses` are the regions' by name; that of the stack is the
    stack pointer at entry."""

    arenas: tuple[Arena, ...]
    addresses: dict[str, int]

    def arena(self, name: str) -> Arena:
        """The arena of that region."""
        return next(arena for arena in self.arenas if arena.name == name)

    def describe(self, address: int) -> str:
        """The address relative to the region that it is closest to, as in `dst + 64`."""

        def distance(arena: Arena) -> int:
            return max(arena.start - address, address - arena.start - arena.size, 0)

        arena = min(self.arenas, key=distance)
        if distance(arena) > MOST_OFFSET:
            return f"address {address:#x}"
        return relative("sp" if arena.name == STACK else arena.name, address - arena.start)


def relative(name: str, offset: int) -> str:
    """Text for an offset in bytes from something with a name."""
    return f"{name} {'-' if offset < 0 else '+'} {abs(offset)}"


def words(architecture: Architecture, values: Sequence[int]) -> bytes:
    """32-bit words as they lie in memory, in the machine's byte order."""
    return b"".join(value.to_bytes(4, architecture.byte_order) for value in values)


def _up(size: int) -> int:
    return -(-size // qemu.PAGE) * qemu.PAGE


def _arena(
    name: str,
    bits: int,
    size: int,
    alignment: int,
    values: random.Random,
    edge: Edge | None,
    depth: int,
) -> Arena:
    """The stack is aligned at its end, which lies above the return address if that is there."""
    base = _BASES[bits][name] + values.randrange(_RANDOM_PAGES[bits]) * qemu.PAGE
    below = depth if name == STACK else GUARD
    shift = size % alignment if name == STACK else 0
    if edge is None:
        length = _up(below + size + GUARD)
        room = length - below - size - GUARD
        start = below + values.randrange(0, room + 1)
        start -= (start + shift) % alignment
    elif edge.offset >= size:
        distance = edge.offset - (edge.offset - shift) % alignment
        length = _up(below + distance)
        start = length - distance
    else:
        start = (-edge.offset - 1) // alignment * alignment
        length = _up(start + size + GUARD)
    return Arena(name, base, values.randbytes(length), base + start, size)


def _writable(arena: Arena, architecture: Architecture) -> tuple[tuple[int, int], ...]:
    if arena.name == STACK:
        slots = ((arena.start + at, size) for at, size in architecture.linkage_area)
        return (arena.address, arena.start - arena.address), *slots
    is_writable = any(region.name == arena.name and region.writable for region in REGIONS)
    return ((arena.start, arena.size),) if is_writable else ()


def _check(edge: Edge, sizes: dict[str, int]) -> None:
    if edge.region not in sizes:
        raise ValueError(f"{edge.region} has no pages of its own, only {', '.join(sizes)} have")
    outside = edge.offset >= sizes[edge.region] or (edge.offset < 0 and edge.region != STACK)
    if not outside or abs(edge.offset) > MOST_OFFSET:
        raise ValueError(f"no edge can be put at {relative(edge.region, edge.offset)}")


def place(
    architecture: Architecture,
    inputs: Inputs,
    edge: Edge | None = None,
    depth: int = STACK_DEPTH,
) -> Placement:
    """The memory at entry: the regions' contents, random bytes everywhere else.

    At least `depth` bytes below the stack pointer are mapped.

    Where things lie and the random bytes depend on `inputs.seed` and the sizes alone. Raises
    ValueError for an impossible edge.
    """
    values = generator(f"memory {inputs.seed}")
    sizes = {
        region.name: BLOCK_BYTES * inputs.nblocks if region.size is None else region.size
        for region in REGIONS
    } | {STACK: architecture.popped_at_return}
    alignments = _ALIGNMENTS | {STACK: architecture.stack_alignment}
    contents = {
        "key": words(architecture, inputs.key),
        "counter": words(architecture, (inputs.counter % 2**32, inputs.counter >> 32)),
    }
    if architecture.return_address == ON_STACK:
        returned = qemu.machine_of(architecture.name).space.returned
        contents[STACK] = returned.to_bytes(architecture.bits // 8, architecture.byte_order)
    where = {}
    if inputs.in_place:
        del sizes["key"]
        alignments["dst"] = alignments["key"]
        contents["dst"], where["dst"] = contents.pop("key"), REFILL_KEY_OFFSET
    if edge is not None:
        _check(edge, sizes)
    arenas = []
    for name, size in sizes.items():
        here = edge if edge is not None and edge.region == name else None
        arena = _arena(name, architecture.bits, size, alignments[name], values, here, depth)
        at = arena.start + where.get(name, 0)
        arena = arena.with_bytes(at, contents.get(name, b""))
        arenas.append(replace(arena, writable=_writable(arena, architecture)))
    addresses = {arena.name: arena.start for arena in arenas}
    if inputs.in_place:
        addresses["key"] = addresses["dst"] + REFILL_KEY_OFFSET
    return Placement(tuple(arenas), addresses)
