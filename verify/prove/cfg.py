"""Control flow of the function: basic blocks, edges, natural loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import networkx

from verify.lift.engine import Block, Engine

_MAX_BLOCKS = 4096


@dataclass(frozen=True)
class NaturalLoop:
    """A loop of the control-flow graph: its head and the addresses of all its blocks."""

    head: int
    blocks: frozenset[int]


@dataclass(frozen=True)
class ControlFlow:
    """Blocks that end before every branch target, their direct successors, and the loops."""

    blocks: dict[int, Block]
    successors: dict[int, tuple[int, ...]]
    loops: tuple[NaturalLoop, ...]

    def innermost(self, block: int) -> NaturalLoop | None:
        """The smallest loop around the block at that address."""
        around = [loop for loop in self.loops if block in loop.blocks]
        return min(around, key=lambda loop: len(loop.blocks), default=None)

    @property
    def end(self) -> int:
        """The address behind the last instruction reached."""
        return max(block.address + block.size for block in self.blocks.values())


def control_flow(
    engine: Engine, entry: int, targets: Callable[[Block], tuple[int, ...]] | None = None
) -> ControlFlow:
    """The control flow reachable from `entry` through direct branches, calls not followed.

    `targets` are the direct successors of a block, by default those that the engine names. Raises
    Unsupported where an instruction cannot be decoded.
    """
    leaders = {entry}
    lift = cache(engine.lift)
    while True:
        blocks, successors = _blocks(lift, targets or engine.targets, entry, leaders)
        found = {target for targets in successors.values() for target in targets}
        inside = {a for block in blocks.values() for a in block.instructions[1:]}
        if not found & inside - leaders:
            break
        leaders |= found
    graph = networkx.DiGraph()
    graph.add_node(entry)
    graph.add_edges_from((a, b) for a, targets in successors.items() for b in targets)
    return ControlFlow(blocks, successors, tuple(_loops(graph, entry)))


def _blocks(
    lift: Callable[..., Block],
    direct: Callable[[Block], tuple[int, ...]],
    entry: int,
    leaders: set[int],
) -> tuple[dict[int, Block], dict[int, tuple[int, ...]]]:
    blocks: dict[int, Block] = {}
    successors: dict[int, tuple[int, ...]] = {}
    pending = [entry]
    while pending and len(blocks) < _MAX_BLOCKS:
        address = pending.pop()
        if address in blocks:
            continue
        block = lift(address)
        for index, instruction in enumerate(block.instructions[1:], 1):
            if instruction in leaders:
                block = lift(address, index)
                break
        blocks[address] = block
        successors[address] = direct(block)
        pending.extend(successors[address])
    return blocks, successors


def _loops(graph: networkx.DiGraph[int], entry: int) -> list[NaturalLoop]:
    dominator = networkx.immediate_dominators(graph, entry)

    def dominates(a: int, b: int) -> bool:
        while b != a:
            above = dominator.get(b)
            if above is None or above == b:
                return False
            b = above
        return True

    bodies: dict[int, set[int]] = {}
    for tail, head in graph.edges:
        if dominates(head, tail):
            body = bodies.setdefault(head, {head})
            pending = [tail]
            while pending:
                block = pending.pop()
                if block not in body:
                    body.add(block)
                    pending.extend(graph.predecessors(block))
    return [NaturalLoop(head, frozenset(body)) for head, body in sorted(bodies.items())]
