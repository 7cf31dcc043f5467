"""VEX operations that angr's table lacks, whatever the architecture.

Each is the complete operation of VEX's `libvex_ir.h`, for all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from angr import claripy


def lanes(value: Any, width: int) -> list[Any]:
    """The lanes of a value, the most significant first."""
    return [value[low + width - 1 : low] for low in range(value.size() - width, -1, -width)]


def concat(parts: list[Any]) -> Any:
    """One value from lanes, the most significant first."""
    return parts[0] if len(parts) == 1 else claripy.Concat(*parts)


def _reverse(piece: int, lane: int) -> Callable[[Any], Any]:
    """`Iop_Reverse<piece>sIn<lane>_x<n>`: the pieces of each lane in the opposite order."""

    def run(value: Any) -> Any:
        return concat([concat(lanes(part, piece)[::-1]) for part in lanes(value, lane)])

    return run


def _without_high(bits: int) -> Callable[[Any], Any]:
    """`Iop_ZeroHI<bits>ofV128`: that many of the most significant bits cleared."""

    def run(value: Any) -> Any:
        return value[value.size() - bits - 1 : 0].zero_extend(bits)

    return run


_REVERSE = {
    f"Iop_Reverse{piece}sIn{lane}_x{count}": _reverse(piece, lane)
    for count in (1, 2, 4, 8)
    for lane in (16, 32, 64)
    for piece in (1, 8, 16, 32)
    if piece < lane
}
_ZERO_HIGH = {f"Iop_ZeroHI{bits}ofV128": _without_high(bits) for bits in (64, 96, 112, 120)}

OPERATIONS: Mapping[str, Callable[..., Any]] = {**_REVERSE, **_ZERO_HIGH}
