"""A getrandom that is proved, as what histories are executed on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verify.getrandom.flow import flow_of
from verify.history.model import Program
from verify.lift.select import engine_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.target import Target


def program_of(target: Target, page_bytes: int, data_page: int) -> Program:
    """The target, whose function is a getrandom, for pages of that size, and with its data page so
    many bytes in front of address 0.

    The instructions are those of its own control flow, without ChaCha20. Raises Unsupported where
    that cannot be followed.
    """
    architecture, function = target.architecture, target.function
    assert target.callee is not None
    chacha20 = replace(target, function=target.callee, callee=None)
    flow = flow_of(chacha20, engine_for(architecture, target.code), function.address).control
    own = {at for block in flow.blocks.values() for at in block.instructions}
    return Program(
        architecture=architecture,
        segments=tuple((segment.address, segment.data) for segment in target.segments),
        entry=function.address,
        instructions=tuple(sorted(own)),
        system_calls=system_calls_of(target, own),
        page_bytes=page_bytes,
        data_page=data_page,
        toc=function.toc,
    )


def system_calls_of(target: Target, instructions: Iterable[int]) -> frozenset[int]:
    """The addresses of instructions that make a system call, among these and, where instructions
    have one length, anywhere in the image."""
    wanted = target.architecture.system_calls.instruction
    places = {*instructions, *_aligned(target)}
    return frozenset(at for at in places if target.code(at, len(wanted)) == wanted)


def _aligned(target: Target) -> Iterator[int]:
    """Where instructions of all of the image are, if they have one length."""
    size = target.architecture.instruction_bytes
    if size != target.architecture.instruction_alignment:
        return
    for segment in target.segments:
        if segment.executable:
            first = -segment.address % size + segment.address
            yield from range(first, segment.address + len(segment.data) - size + 1, size)
