"""Branches and loops: where they lead, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from verify.anatomy import Part
from verify.prove.cfg import NaturalLoop
from verify.prove.segments import Segment, Segments
from verify.terms import Term


def branch_roles(segments: Segments) -> list[tuple[int, Part, str]]:
    """What the instruction at the end of each basic block does there, if it is a branch."""
    return list(_branch_roles(segments))


def _branch_roles(segments: Segments) -> Iterator[tuple[int, Part, str]]:
    flow = segments.flow
    for address, block in flow.blocks.items():
        last = block.instructions[-1]
        targets = flow.successors[address]
        around = [loop for loop in flow.loops if address in loop.blocks]
        taken = [target for target in targets if target != address + block.size]
        if len(targets) > 1:
            leaves = [loop for loop in around if not loop.blocks.issuperset(targets)]
            for loop in leaves:
                yield last, Part.LOOP, f"goes on with the loop at {loop.head:#x} or leaves it"
            if not leaves:
                yield last, Part.BRANCH, f"goes to {', '.join(f'{one:#x}' for one in taken)} or on"
        elif taken:
            back = any(loop.head == taken[0] for loop in around)
            part = Part.LOOP if back else Part.BRANCH
            yield last, part, f"goes {'back ' if back else ''}to {taken[0]:#x}"
    for segment in segments.exits:
        yield segment.machine.instruction, Part.RETURN, ""


@dataclass(frozen=True)
class Passes:
    """The passes through a loop on a path of which their number is a constant: the steps at which
    its head is reached, and the first step behind the last pass."""

    heads: tuple[int, ...]
    behind: int


def passes(segments: Segments, segment: Segment, loop: NaturalLoop) -> Passes | None:
    """The passes through a loop other than the block loop; None where the path does not come to it,
    or comes to it more than once."""
    blocks = segments.flow.blocks
    inside = {at for address in loop.blocks for at in blocks[address].instructions}
    steps = segment.machine.steps
    heads = [step for step, at in enumerate(steps) if at == loop.head]
    if not heads:
        return None
    entries = [step for step in heads if not step or steps[step - 1] not in inside]
    if len(entries) > 1:
        return None
    behind = next(
        (step for step in range(heads[-1], len(steps)) if steps[step] not in inside), len(steps)
    )
    return Passes(tuple(heads), behind)


def counting(segments: Segments) -> Mapping[int, int]:
    """The instructions that write constants which are not the same in all passes of a loop, with
    its head: whatever the inputs are, they tell one pass from another."""
    found: dict[int, int] = {}
    cut = segments.loop.head if segments.loop is not None else None
    for loop in segments.flow.loops:
        for segment in segments if loop.head != cut else ():
            made = passes(segments, segment, loop)
            if made is not None:
                found |= dict.fromkeys(_telling(segment, made), loop.head)
    return found


def _telling(segment: Segment, made: Passes) -> list[int]:
    values: dict[tuple[int, int], list[Term]] = {}
    for write in segment.machine.register_writes:
        if made.heads[0] <= write.step < made.behind:
            values.setdefault((write.instruction, write.offset), []).append(write.value)
    return [
        instruction
        for (instruction, _), each in values.items()
        if len(set(each)) > 1 and all(value.value is not None for value in each)
    ]
