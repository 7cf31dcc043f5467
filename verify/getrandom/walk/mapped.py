"""Where the image is mapped: anywhere, at the start of a page.

The code is read at one address, which follows from its bytes, so that none of them can hold it. An
address near that which an instruction leaves in a register or in memory was computed from its own:
there it is `MAPPED` bytes further up, and so nothing else can be made of it than goes with the
image.
"""

from __future__ import annotations

import hashlib
from typing import Any

from verify.lift.convert import Converter
from verify.target import Target
from verify.terms import Term, add, linear, var

MAPPED = "mapped"
"""The name of the variable."""
_ALIGNMENT = 1 << 16
"""Of the address: the largest page that the kernels have."""
_REACH = {64: 1 << 40, 32: 1 << 20}
"""How far from it an instruction's own address may lead, in bytes, by the width of a pointer."""


def mapped(bits: int) -> Term:
    """How many bytes above the address at which it is read the image is mapped."""
    return var(MAPPED, bits)


def base_of(target: Target) -> int:
    """Where the image is read."""
    digest = hashlib.sha256(b"".join(segment.data for segment in target.segments)).digest()
    width = target.architecture.bits - 2
    low = int.from_bytes(digest, "big") % (1 << width)
    return (1 << width | low) // _ALIGNMENT * _ALIGNMENT


def address_in(term: Term) -> int | None:
    """The address that a term is, where the image is read; None where it is none of the image's."""
    form = linear(term)
    goes_along = form.coefficients == {mapped(term.width): 1}
    return form.constant if form.is_constant or goes_along else None


class ImageConverter(Converter):
    """Converts what instructions compute; addresses of the image go with it."""

    def __init__(self, base: int, bits: int) -> None:
        super().__init__()
        self._base, self._bits = base, bits

    def bind(self, expression: Any) -> tuple[Any, Term]:
        """As for any expression, but addresses near where the image is read."""
        _, term = super().bind(expression)
        value = term.value
        if (
            value is not None
            and term.width == self._bits
            and abs(value - self._base) < _REACH[self._bits]
        ):
            term = add(term, mapped(self._bits))
        return self.leaf(term), term
