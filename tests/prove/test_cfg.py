"""Blocks, edges and loops of the project's programs and of small ones."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.lift.programs import ENTRY
from tests.proving import PROGRAMS, segments_of_program
from tests.witness.programs import MACHINES, Machine
from verify.lift.angr_import import import_angr

import_angr()

from verify.lift.machine import Unsupported  # noqa: E402
from verify.lift.select import engine_for  # noqa: E402
from verify.prove.cfg import ControlFlow, control_flow  # noqa: E402

per_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
WORD = 4


def flow_of(machine: Machine, *words: int | tuple[int, ...]) -> ControlFlow:
    """The control flow of a program of single words and groups of words."""
    flat = [w for word in words for w in ((word,) if isinstance(word, int) else word)]
    target = machine.program(*flat)
    assert target.function.address == ENTRY
    return control_flow(engine_for(target.architecture, target.code), ENTRY)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_covered_and_loop_as_their_style_says(name: str) -> None:
    segments = segments_of_program(name)
    flow, function = segments.flow, segments.target.function
    ranges = sorted((a, a + block.size) for a, block in flow.blocks.items())
    assert ranges[0][0] == function.address
    assert flow.end == ranges[-1][1] == function.address + function.size
    assert all(end == start for (_, end), (start, _) in pairwise(ranges))
    for address, block in flow.blocks.items():
        assert block.instructions[0] == block.address == address
        assert set(flow.successors[address]) <= set(flow.blocks)
    heads = [loop.head for loop in flow.loops]
    assert len(heads) == (2 if Path(name).stem in {"looped", "lsx", "reversing", "scalar"} else 1)
    outer = flow.loops[0]
    assert segments.loop is not None and segments.loop.head == outer.head
    for inner in flow.loops[1:]:
        assert inner.blocks < outer.blocks
        assert flow.innermost(inner.head) is inner
    assert flow.innermost(outer.head) is outer
    assert flow.innermost(function.address) is None


@per_machine
def test_straight_line(machine: Machine) -> None:
    flow = flow_of(machine, machine.zero("free"), machine.zero("free"), machine.back)
    assert list(flow.blocks) == [ENTRY]
    assert flow.successors == {ENTRY: ()}
    assert flow.loops == ()
    assert flow.end == ENTRY + 3 * WORD


@per_machine
def test_a_loop_whose_head_is_inside_a_block(machine: Machine) -> None:
    """The branch goes back into the middle of what was one block until then."""
    decrement = machine.add("free", "free", -1)
    branch = machine.branch_if_not_zero("free", -WORD)
    flow = flow_of(machine, machine.zero("free"), decrement, branch, machine.back)
    head = ENTRY + WORD
    behind = head + WORD * (1 + len(branch))
    assert sorted(flow.blocks) == [ENTRY, head, behind]
    assert flow.blocks[ENTRY].instructions == (ENTRY,)
    assert flow.successors == {ENTRY: (head,), head: (head, behind), behind: ()}
    (loop,) = flow.loops
    assert loop.head == head
    assert loop.blocks == {head}


@per_machine
def test_two_nested_loops(machine: Machine) -> None:
    inner = machine.branch_if_not_zero("free", -WORD)
    outer = machine.branch_if_not_zero("other", -WORD * (2 + len(inner)))
    words = (machine.zero("free"), machine.zero("saved"), inner, outer, machine.back)
    flow = flow_of(machine, *words)
    inner_head = ENTRY + WORD
    outer_block = inner_head + WORD * (1 + len(inner))
    assert {loop.head: loop.blocks for loop in flow.loops} == {
        ENTRY: {ENTRY, inner_head, outer_block},
        inner_head: {inner_head},
    }
    found = flow.innermost(outer_block)
    assert found is not None and found.head == ENTRY


@per_machine
def test_a_cycle_with_two_ways_in_is_no_natural_loop(machine: Machine) -> None:
    """entry: if free goto B; A: zero; B: zero; if other goto A; return."""
    enter = machine.branch_if_not_zero(
        "free", WORD * (1 + len(machine.branch_if_not_zero("free", 0)))
    )
    again = machine.branch_if_not_zero("other", -2 * WORD)
    flow = flow_of(
        machine, enter, machine.zero("saved"), machine.zero("saved"), again, machine.back
    )
    a = ENTRY + WORD * len(enter)
    assert flow.successors[a + WORD][0] == a
    assert flow.loops == ()


@per_machine
def test_unconditional_branches_have_one_successor(machine: Machine) -> None:
    flow = flow_of(machine, machine.branch(2 * WORD), machine.trap, machine.back)
    assert flow.successors == {ENTRY: (ENTRY + 2 * WORD,), ENTRY + 2 * WORD: ()}


@per_machine
def test_code_that_cannot_be_read_is_an_error_that_names_it(machine: Machine) -> None:
    with pytest.raises(Unsupported, match=f"{ENTRY + WORD:#x}: "):
        flow_of(machine, machine.zero("free"), 0)
    with pytest.raises(Unsupported, match="0x1400: execution leaves the code of the image"):
        flow_of(machine, machine.branch(0x1000))
