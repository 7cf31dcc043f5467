"""How functions of one contract are compared with their mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specs.contract import ARGUMENTS
from specs.getrandom_contract import ARGUMENTS as GETRANDOM_ARGUMENTS
from verify.arch import Architecture
from verify.getrandom.walk.flow import flow_of
from verify.lift.engine import Block, Engine
from verify.lift.machine import Unsupported
from verify.mutate.effect import ways
from verify.prove.cfg import ControlFlow, control_flow
from verify.target import Target
from verify.verdict import Contract


@dataclass(frozen=True)
class Shape:
    """What differs between contracts.

    `flow` is the control flow that is compared, `special` are the addresses of its barriers and
    system calls, which are blocks of their own. `pointers` are the numbers of the arguments that
    point to regions, which do not overlap. `shared` says that others may use the memory between any
    two accesses, so that their order counts, and that nothing but its result may be left in a
    register in another way.
    """

    flow: Callable[[Target, Engine], ControlFlow]
    special: Callable[[Target, ControlFlow], frozenset[int]]
    pointers: tuple[int, ...]
    shared: bool


def _getrandom_flow(target: Target, engine: Engine) -> ControlFlow:
    """With barriers and system calls as blocks of their own, which only other bytes change."""
    flow = flow_of(target.called, engine, target.function.address).control
    blocks: dict[int, Block] = {}
    successors: dict[int, tuple[int, ...]] = {}
    special = _special(target, flow)
    for block in flow.blocks.values():
        parts = list(_parts(block, special))
        for number, (address, count) in enumerate(parts):
            blocks[address] = engine.lift(address, count) if len(parts) > 1 else block
            behind = parts[number + 1][0] if number + 1 < len(parts) else None
            successors[address] = flow.successors[block.address] if behind is None else (behind,)
    return ControlFlow(blocks, successors, ())


def _special(target: Target, flow: ControlFlow) -> frozenset[int]:
    """The addresses of barriers and system calls."""
    architecture, port = target.architecture, target.architecture.getrandom_port
    wanted, order = architecture.system_calls.instruction, architecture.instruction_order
    found = set()
    for block in flow.blocks.values():
        for at in block.instructions:
            code = target.code(at, target.instruction_size(at)) or b""
            number = int.from_bytes(code, order)
            if code == wanted or (port is not None and port.is_barrier(number)):
                found.add(at)
    return frozenset(found)


def _parts(block: Block, special: frozenset[int]) -> Iterator[tuple[int, int]]:
    """The address and the number of instructions of each part."""
    start, count = block.address, 0
    previous = False
    for at in block.instructions:
        if count and (previous or at in special):
            yield start, count
            start, count = at, 0
        count, previous = count + 1, at in special
    yield start, count


def calls_in(engine: Engine, architecture: Architecture, flow: ControlFlow) -> frozenset[int]:
    """The addresses of blocks that end with a call."""
    found = set()
    for address, block in flow.blocks.items():
        try:
            if any(way.call for way in ways(architecture, engine, [block])):
                found.add(address)
        except Unsupported:
            continue
    return frozenset(found)


def pieces_of(
    flow: ControlFlow, special: frozenset[int], calls: frozenset[int]
) -> dict[int, list[int]]:
    """Blocks that can only be executed one behind the other, by the address of the first; those
    that are special are by themselves, and behind a call another piece begins."""
    before = Counter(target for targets in flow.successors.values() for target in targets)
    following = {
        block: targets[0]
        for block, targets in flow.successors.items()
        if len(targets) == 1
        and before[targets[0]] == 1
        and targets[0] > block
        and special.isdisjoint({block, targets[0]})
        and block not in calls
    }
    inner = set(following.values())
    pieces = {}
    for block in flow.blocks:
        if block not in inner:
            pieces[block] = [block]
            while (last := pieces[block][-1]) in following:
                pieces[block].append(following[last])
    return pieces


SHAPES = {
    Contract.CHACHA20: Shape(
        lambda target, engine: control_flow(engine, target.function.address),
        lambda _target, _flow: frozenset(),
        tuple(range(len(ARGUMENTS) - 1)),
        shared=False,
    ),
    Contract.GETRANDOM: Shape(
        _getrandom_flow,
        _special,
        tuple(GETRANDOM_ARGUMENTS.index(name) for name in ("buffer", "opaque_state")),
        shared=True,
    ),
}
