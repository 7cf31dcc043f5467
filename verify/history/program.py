"""From an image to the getrandom that is executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.arch import find_architecture
from verify.errors import InputError
from verify.history.model import Program
from verify.target import CodeSegment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.arch import Architecture
    from verify.arch.kerneldata import Layout
    from verify.image import Elf, Image
    from verify.target import Alternative


def program_in(image: Image, layout: Layout, applied: Iterable[Alternative] = ()) -> Program:
    """The exported getrandom of an image, with the kernel's data where the layout says, after the
    kernel has applied these alternatives.

    Raises InputError where the image has none, or is of an architecture that is not known.
    """
    elf = image.elf
    order = "little" if elf.little_endian else "big"
    architecture = find_architecture(elf.machine, elf.bits, order, elf.flags)
    if architecture is None:
        raise InputError(image.name, f"no architecture is known for {elf.machine}")
    function = elf.getrandom
    if function is None:
        raise InputError(image.name, "it exports no getrandom")
    segments = [CodeSegment(one.address, one.data, one.executable) for one in elf.segments]
    for alternative in applied:
        segments = [one.patched(alternative) for one in segments]
    instructions = dict(_instructions(architecture, elf, segments))
    wanted = architecture.system_calls.instruction
    return Program(
        architecture=architecture,
        segments=tuple((segment.address, segment.data) for segment in segments),
        entry=function.address,
        instructions=tuple(instructions),
        system_calls=frozenset(at for at, code in instructions.items() if code == wanted),
        layout=layout,
        toc=None if function.descriptor is None else function.descriptor.toc,
    )


def _instructions(
    architecture: Architecture, elf: Elf, segments: Iterable[CodeSegment]
) -> Iterator[tuple[int, bytes]]:
    """All instructions in the sections of code, with their addresses."""
    for section in elf.sections:
        if not section.executable:
            continue
        (code,) = (
            one.data[section.address - one.address :][: section.size]
            for one in segments
            if one.address <= section.address < one.address + len(one.data)
        )
        at = 0
        while at < len(code):
            length = architecture.instruction_length(code[at : at + architecture.instruction_bytes])
            end = at + max(length, architecture.instruction_alignment)
            yield section.address + at, code[at:end]
            at = end
