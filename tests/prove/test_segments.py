"""Small functions, cut into segments; what cannot be executed faithfully is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lift.programs import ENTRY
from tests.witness.programs import MACHINES, Machine
from verify.decide import Answer, valid
from verify.lift.angr_import import import_angr
from verify.terms import Linear, binary, const, equal, negate, unsigned_less

import_angr()

from verify.lift.machine import Unsupported  # noqa: E402
from verify.lift.select import engine_for  # noqa: E402
from verify.properties.abi import ABI  # noqa: E402
from verify.prove.segments import Segments, segments_of  # noqa: E402

per_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
WORD = 4

type Words = int | tuple[int, ...]

# bl +8; system call; break or trap
CALL = {"loongarch64": 0x54000800, "powerpc64le": 0x48000009}
UNDESCRIBED = {"loongarch64": 0x0400802C, "powerpc64le": 0xFFE0004C}
"""csrwr of a register of the kernel's; mtfsb1 of the rounding mode."""
SYSTEM_CALL = {"loongarch64": 0x002B0000, "powerpc64le": 0x44000002}
BREAK = {"loongarch64": 0x002A0000, "powerpc64le": 0x7FE00008}


def segments(machine: Machine, *words: Words) -> Segments:
    flat = [w for word in words for w in ((word,) if isinstance(word, int) else word)]
    target = machine.program(*flat)
    return segments_of(target, engine_for(target.architecture, target.code))


def body(machine: Machine, step: int = -1) -> list[Words]:
    """A loop that clears a word of each block and counts nblocks down."""
    inside = [
        machine.store("free", "dst", 0),
        machine.add("dst", "dst", 64),
        machine.add("nblocks", "nblocks", step),
    ]
    return [*inside, machine.branch_if_not_zero("nblocks", -WORD * len(inside)), machine.back]


@per_machine
def test_straight_line_has_one_segment(machine: Machine) -> None:
    found = segments(machine, machine.zero("free"), machine.store("free", "dst", 4), machine.back)
    (only,) = found
    assert (only.begin, only.end, only.name) == ("entry", "exit", "entry to exit")
    assert found.loop is None and found.induction == () and found.exits == (only,)
    returned = equal(only.path.target, found.names.address("ra"))
    assert valid(only.assumptions, returned).answer is Answer.UNSAT
    (access,) = only.accesses
    assert (access.kind, access.size, access.instruction) == ("write", 4, ENTRY + WORD)
    assert access.place is not None
    assert (access.place.region, access.place.offset) == ("dst", 4)
    assert only.machine.steps == [ENTRY, ENTRY + WORD, ENTRY + 2 * WORD]
    assert only.done is const(0, 64)


@per_machine
def test_a_loop_over_the_blocks(machine: Machine) -> None:
    found = segments(machine, machine.zero("free"), *body(machine))
    assert [s.name for s in found] == ["entry to loop", "loop to loop", "loop to exit"] or [
        s.name for s in found
    ] == ["entry to loop", "loop to exit", "loop to loop"]
    assert found.loop is not None and found.loop.head == ENTRY + WORD
    index = found.names.index
    for segment in found:
        if segment.begin == "loop":
            (access,) = segment.accesses
            assert access.place is not None
            assert access.place.index == Linear(64, 0, {index: 64})
            assert unsigned_less(index, found.names.nblocks) in segment.assumptions
            assert segment.done is index
    for obligation in found.induction:
        assert valid(obligation.assumptions, obligation.formula).answer is Answer.UNSAT
    (leaving,) = found.exits
    last = equal(binary("bvadd", index, const(1, 64)), found.names.nblocks)
    assert valid(leaving.assumptions, last).answer is Answer.UNSAT


@per_machine
def test_what_was_written_to_dst_is_not_known_at_the_head(machine: Machine) -> None:
    enter = (machine.zero("free"), machine.store("free", "dst", 32))
    found = segments(machine, *enter, *body(machine))
    assert found.loop is not None
    assert {region for region, _ in found.loop.start.memory.cells()} == {"key", "counter"}


@per_machine
def test_a_loop_that_may_miss_its_end_is_not_believed(machine: Machine) -> None:
    head = ENTRY + WORD
    with pytest.raises(Unsupported, match=f"{head:#x}: no bound on the number of passes"):
        segments(machine, machine.zero("free"), *body(machine, step=-2))


@per_machine
def test_a_branch_that_the_contract_decides_is_no_branch(machine: Machine) -> None:
    """nblocks is positive, so that the way for zero is excluded, and named as such."""
    skip = machine.branch_if_not_zero("nblocks", 0)
    branch = machine.branch_if_not_zero("nblocks", WORD * (len(skip) + 1))
    found = segments(machine, branch, machine.store("free", "key", 0), machine.back)
    (only,) = found
    assert only.accesses == ()
    (excluded,) = found.entry.excluded
    assert valid((*found.contract,), negate(excluded[-1])).answer is Answer.UNSAT


@per_machine
def test_both_ways_of_a_branch(machine: Machine) -> None:
    skip = machine.branch_if_not_zero("free", 0)
    branch = machine.branch_if_not_zero("free", WORD * (len(skip) + 1))
    found = segments(machine, branch, machine.store("free", "dst", 0), machine.back)
    assert sorted(len(segment.accesses) for segment in found) == [0, 1]
    one, two = found
    assert one.path.guards != two.path.guards
    (either,) = {negate(one.path.guards[-1]), two.path.guards[-1]} & set(two.path.guards)
    assert either.width == 0


@per_machine
@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (CALL, "calls another function"),
        (SYSTEM_CALL, "Ijk_Sys|opaque"),
        (BREAK, "Ijk_|opaque"),
        (UNDESCRIBED, "uses a register that is not described"),
    ],
    ids=["call", "system call", "break", "undescribed"],
)
def test_what_leaves_the_function_is_refused(
    machine: Machine, word: dict[str, int], reason: str
) -> None:
    with pytest.raises(Unsupported, match=f"{ENTRY + WORD:#x}: .*({reason})") as caught:
        segments(machine, machine.zero("free"), word[machine.name], machine.back, machine.back)
    assert caught.value.address == ENTRY + WORD


@per_machine
def test_a_jump_to_where_no_branch_leads_is_refused(machine: Machine) -> None:
    """An address that is known, but that is no block of the control flow."""
    with pytest.raises(Unsupported, match="a path leads to code that direct branches do not reach"):
        segments(machine, machine.zero("free"), machine.go_to("free"))


@per_machine
def test_a_jump_through_a_register_leaves_the_function(machine: Machine) -> None:
    found = segments(machine, machine.go_to("key"))
    (only,) = found
    assert only.end == "exit"
    assert only.path.target is not found.names.address("ra")


def moved(machine: Machine, by: int) -> int:
    """The stack pointer goes up by some bytes."""
    if machine.name == "loongarch64":
        return 0x02C0_0063 | (by & 0xFFF) << 10  # addi.d sp, sp, by
    return 0x3821_0000 | by & 0xFFFF  # addi r1, r1, by


def read_of_stack(machine: Machine) -> int:
    """What lies 8 bytes above the stack pointer goes to a scratch register."""
    if machine.name == "loongarch64":
        return 0x28C0_006C | 8 << 10  # ld.d t0, sp, 8
    return 0xE981_0008  # ld r12, 8(r1)


RAISED = "the stack pointer is raised, and may be lowered again"


@per_machine
@pytest.mark.parametrize(
    ("before", "behind", "undecided"),
    [
        ((-64,), (64,), ()),
        ((-64, -32), (32, 64), ()),
        ((-64, 32), (32,), (RAISED,)),
        ((-64,), (64, -64, 64), (RAISED,)),
        ((-64,), (640, -576), ("the stack pointer is above its caller's",)),
    ],
)
def test_what_a_signal_handler_may_overwrite(
    machine: Machine, before: tuple[int, ...], behind: tuple[int, ...], undecided: tuple[str, ...]
) -> None:
    *loop, back = body(machine)
    ways = [[moved(machine, by) for by in some] for some in (before, behind)]
    first, *rest = ways[0]
    words = (first, read_of_stack(machine), *rest, machine.zero("free"), *loop, *ways[1], back)
    assert ABI.state(segments(machine, *words)).undecided == undecided


@per_machine
def test_a_signal_handler_overwrites_nothing_that_is_read(machine: Machine) -> None:
    *loop, back = body(machine)
    ways = [[moved(machine, by) for by in some] for some in ((-64,), (64, -64, 64))]
    found = segments(machine, *ways[0], machine.zero("free"), *loop, *ways[1], back)
    assert ABI.state(found).undecided == ()


def chain(machine: Machine, count: int) -> list[Words]:
    """So many branches on values that nobody knows, each to the instruction behind."""
    words: list[Words] = []
    for number in range(count):
        words.append(machine.load("free", "dst", 4 * number))
        branch = machine.branch_if_not_zero("free", 0)
        words.append(machine.branch_if_not_zero("free", WORD * len(branch)))
    return [*words, machine.back]


Program = Callable[[Machine], list[Words]]


def endless(machine: Machine) -> list[Words]:
    """A loop that counts down from a value that nobody knows."""
    count = machine.add("free", "free", -1)
    return [count, machine.branch_if_not_zero("free", -WORD), machine.back]


@per_machine
@pytest.mark.parametrize("program", [lambda machine: chain(machine, 8), endless])
def test_too_many_ways_are_given_up(machine: Machine, program: Program) -> None:
    with pytest.raises(Unsupported, match="more than 64 paths, 256 branches or 12000 instr"):
        segments(machine, *program(machine))


@per_machine
def test_coming_back_to_the_same_state_is_never_ending(machine: Machine) -> None:
    found = segments(machine, machine.branch_if_not_zero("free", 0), machine.back)
    assert sorted(segment.end for segment in found) == ["exit", "never"]
