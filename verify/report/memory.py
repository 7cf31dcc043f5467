"""The memory of a function as a picture, and as a table that says the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from verify.anatomy import Anatomy, MemoryAccess, MemoryRegion
from verify.report.annotated import PERMITTED, from_entry

ROW = 16
"""Bytes in a row of the picture."""
_CELL, _HEIGHT, _LEFT, _LETTER = 17, 18, 62, 5.1
_GAP, _TITLE = 10, 18


@dataclass(frozen=True)
class Touched:
    """One kind of access to a region: which bytes (first, last), by which instructions; those that
    are outside of it, and whether a secret is written that may not leave the function."""

    region: str
    kind: str
    bytes: tuple[tuple[int, int], ...]
    instructions: tuple[int, ...]
    outside: tuple[int, ...]
    secret: bool

    @property
    def faulty(self) -> bool:
        """Whether any of this should not be."""
        return self.secret or bool(self.outside)


def touched(anatomy: Anatomy) -> list[Touched]:
    """What is read and written in each region of the contract, and elsewhere."""
    found = []
    order = [*(region.name for region in anatomy.regions), "code", ""]
    for name in order:
        for kind in ("read", "write"):
            each = [
                (one.address, access)
                for one in anatomy.instructions
                for access in one.accesses
                if access.region == name and access.kind == kind
            ]
            if each:
                found.append(_touched(anatomy, name, kind, each))
    return found


def _touched(
    anatomy: Anatomy, name: str, kind: str, each: Sequence[tuple[int, MemoryAccess]]
) -> Touched:
    region = next((one for one in anatomy.regions if one.name == name), None)
    return Touched(
        name,
        kind,
        tuple(_ranges([access for _, access in each])),
        tuple(dict.fromkeys(address for address, _ in each)),
        tuple(dict.fromkeys(at for at, access in each if region and not _inside(region, access))),
        any(access.secret for _, access in each) and name not in PERMITTED,
    )


def _inside(region: MemoryRegion, access: MemoryAccess) -> bool:
    if access.kind == "write" and not region.writable:
        return False
    return access.offset is None or (
        region.first <= access.offset and access.offset + access.size <= region.behind
    )


def _ranges(accesses: Sequence[MemoryAccess]) -> Iterator[tuple[int, int]]:
    """The (first, last) byte of each run that the accesses touch together."""
    fixed = sorted((one.offset, one.size) for one in accesses if one.offset is not None)
    run: tuple[int, int] | None = None
    for offset, size in fixed:
        last = offset + size - 1
        if run is not None and offset <= run[1] + 1:
            run = (run[0], max(run[1], last))
        else:
            if run is not None:
                yield run
            run = (offset, last)
    if run is not None:
        yield run


@dataclass(frozen=True)
class Cell:
    """Bytes of one row that are touched alike. Measures are those of the picture."""

    x: float
    width: float
    style: str
    label: str
    full: str


@dataclass(frozen=True)
class Line:
    """A row of the picture: the offset of its first byte, or none where rows are left out."""

    y: float
    offset: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Panel:
    """One region."""

    y: float
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Picture:
    """The whole, with its measures and what it shows in words."""

    width: float
    height: float
    panels: tuple[Panel, ...]
    description: str


def picture(anatomy: Anatomy) -> Picture:
    """The bytes of each region in rows of 16, by what is done with them."""
    panels = []
    y = 0.0
    for region in anatomy.regions:
        accesses = [
            access
            for one in anatomy.instructions
            for access in one.accesses
            if access.region == region.name and access.offset is not None
        ]
        lines = []
        at = y + _TITLE
        for first in _rows(region, accesses):
            if first is None:
                lines.append(Line(at + _HEIGHT / 2, "", ()))
                at += _HEIGHT / 2
                continue
            lines.append(Line(at, _offset(region, first), tuple(_cells(region, accesses, first))))
            at += _HEIGHT + 2
        if lines:
            panels.append(Panel(y + _TITLE - 6, _title(anatomy, region), tuple(lines)))
            y = at + _GAP
    return Picture(_LEFT + ROW * _CELL + 2, y, tuple(panels), _description(anatomy))


def _title(anatomy: Anatomy, region: MemoryRegion) -> str:
    size = region.behind - region.first
    if region.name == "stack":
        if anatomy.frame is None:
            return "stack, frame not constant"
        return f"stack, frame of {-anatomy.frame} bytes" if anatomy.frame else "stack, no frame"
    if region.name == "dst":
        return f"dst, each block of {size} bytes"
    return f"{region.name}, {size} bytes"


def _offset(region: MemoryRegion, first: int) -> str:
    return from_entry(first) if region.name == "stack" else f"+{first}"


def _rows(region: MemoryRegion, accesses: Sequence[MemoryAccess]) -> Iterator[int | None]:
    """The offsets at which rows begin; None in place of several in which nothing is touched."""
    ends = [(one.offset or 0, (one.offset or 0) + one.size) for one in accesses]
    if region.name == "stack" and not ends:
        return
    first = min([region.first, *(low for low, _ in ends)])
    behind = max([region.behind, *(high for _, high in ends)])
    start = first - first % ROW
    empty = False
    for row in range(start, behind, ROW):
        used = region.name != "stack" or any(low < row + ROW and row < high for low, high in ends)
        if used:
            yield row
        elif not empty:
            yield None
        empty = not used


def _cells(region: MemoryRegion, accesses: Sequence[MemoryAccess], row: int) -> Iterator[Cell]:
    here = [
        one
        for one in accesses
        if (one.offset or 0) < row + ROW and row < (one.offset or 0) + one.size
    ]

    def at(byte: int) -> tuple[str, tuple[MemoryAccess, ...]]:
        over = tuple(
            one for one in here if (one.offset or 0) <= byte < (one.offset or 0) + one.size
        )
        return _style(region, byte, over), over

    for (style, over), run in groupby(range(row, row + ROW), key=at):
        if style:
            each = list(run)
            width = len(each) * _CELL
            full = _label(style, over)
            short = full if len(full) * _LETTER <= width - 2 else _LETTERS[style]
            yield Cell(_LEFT + (each[0] - row) * _CELL, width, style, short, full)


_LETTERS = {
    "outside": "!", "secret": "s", "untouched": "", "written": "w", "both": "rw", "read": "r"
}  # fmt: skip


def _style(region: MemoryRegion, byte: int, over: Sequence[MemoryAccess]) -> str:
    """How a byte is drawn; empty for one that is neither in the region nor touched."""
    if not over:
        return "untouched" if region.first <= byte < region.behind else ""
    if not all(_inside(region, one) for one in over):
        return "outside"
    writes = [one for one in over if one.kind == "write"]
    if region.name != "dst" and any(one.secret for one in writes):
        return "secret"
    if not writes:
        return "read"
    return "both" if len(writes) < len(over) else "written"


_STYLES = {
    "outside": "outside",
    "secret": "secret",
    "untouched": "",
    "written": "written",
    "both": "read, written",
    "read": "read",
}


def _label(style: str, over: Sequence[MemoryAccess]) -> str:
    holds = dict.fromkeys(one.holds for one in over if one.holds)
    if len(holds) == 1 and style in ("written", "both"):
        (text,) = holds
        return (
            text.removeprefix("output ")
            .removesuffix(" of the caller")
            .removeprefix("pointer argument ")
        )
    return _STYLES[style]


def _description(anatomy: Anatomy) -> str:
    parts = []
    for one in touched(anatomy):
        where = (
            ", ".join(f"{first} to {last}" for first, last in one.bytes) or "places not constant"
        )
        verb = "written" if one.kind == "write" else "read"
        parts.append(f"{one.region or 'elsewhere'}: bytes {where} {verb}")
    return "; ".join(parts) or "Nothing is read or written"
