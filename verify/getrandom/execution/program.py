"""A getrandom that is proved, as what histories are executed on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verify.getrandom.comparison.declining import nothing_elsewhere
from verify.getrandom.walk.flow import flow_of
from verify.history.catalogue import ENOSYS, Histories
from verify.history.execution import execute
from verify.history.model import Program
from verify.lift.select import engine_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.arch.kerneldata import Layout
    from verify.target import Target


def program_of(target: Target, layout: Layout) -> Program:
    """The target, whose function is a getrandom, with the kernel's data where the layout says.

    The instructions are those of its own control flow, without ChaCha20. Raises Unsupported where
    that cannot be followed, QemuError where it has to be executed and cannot.
    """
    architecture, function = target.architecture, target.function
    engine = engine_for(architecture, target.code)
    flow = flow_of(target.called, engine, function.address).control
    own = {at for block in flow.blocks.values() for at in block.instructions}
    program = Program(
        architecture=architecture,
        segments=tuple((segment.address, segment.data) for segment in target.segments),
        entry=function.address,
        instructions=tuple(sorted(own)),
        system_calls=system_calls_of(target, own),
        layout=layout,
        toc=function.toc,
    )
    may_decline = nothing_elsewhere(target, ((at, 1) for at in own))
    return replace(program, declines=may_decline and _is_not_there(program))


def _is_not_there(program: Program) -> bool:
    """Whether the query says that there is no such function."""
    query, *_ = Histories(program).named()["query"]
    ((done,),) = execute(program, [(query,)])
    return done.result == -ENOSYS


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
