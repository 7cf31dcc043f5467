"""From an image to the cost of its getrandom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specs.opaque_state import BATCH_BYTES
from verify import qemu
from verify.cost.formula import formulas
from verify.cost.measure import UNALIGNED, counts
from verify.cost.model import LENGTHS, POSITIONS, Cost
from verify.history.layout import booted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.cost.measure import Served
    from verify.image import Image

UNEVEN = 91
"""A length that is no multiple of anything, so that all remainders of what is moved occur."""
LONG = 1024
"""One that needs many blocks."""
_EVERY = 8


def calls() -> Iterator[Served]:
    """The calls to be executed, each once."""
    every = [(length, pos) for length in (*LENGTHS, UNEVEN) for pos in POSITIONS]
    every += [(LONG, pos) for pos in POSITIONS[::_EVERY]]
    for length in range(1, BATCH_BYTES + 1):
        every += [(length, 0), (length, BATCH_BYTES - length)]
    yield from dict.fromkeys(every)


def cost_of(image: Image, source: str) -> Cost:
    """The cost of the exported getrandom of an image from that file.

    Raises InputError where there is none; Unplaced, Uncounted and QemuError where it cannot be
    executed and counted.
    """
    kernel = booted(image)
    program, function = kernel.program, image.elf.getrandom
    assert function is not None
    found = counts(kernel, calls())
    some = [(length, pos) for length in LENGTHS for pos in POSITIONS[::_EVERY]]
    unaligned = counts(kernel, some, UNALIGNED).by_call
    patched = [
        str(one.condition)
        for one in kernel.applied
        if any(one.address <= at < one.end for at in found.executed)
    ]
    return Cost(
        source=source,
        path=image.path,
        image_sha256=image.sha256,
        architecture=program.architecture,
        function=function.name,
        executor=qemu.available(program.architecture.name) or "",
        page_bytes=program.page_bytes,
        data_page=program.data_page,
        patched=tuple(dict.fromkeys(patched)),
        by_call=found.by_call,
        formulas=formulas(found.by_call),
        aligned_only=any(found.by_call[call] != number for call, number in unaligned.items()),
    )
