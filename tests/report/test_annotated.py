"""Code, loops and memory on the page for a reviewer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report import samples
from tests.report.render import GOLDEN, page
from verify.anatomy import Anatomy, MemoryAccess, Part, Role
from verify.report.annotated import access_text, numbers, role_text, stretches
from verify.report.comparison import compared
from verify.report.html import render
from verify.report.loops import WIDTH, loop_rows, spans
from verify.report.memory import picture, touched
from verify.resultjson import Outcome
from verify.verdict import Check, LoopSummary, Residue, Verdict


def test_page() -> None:
    assert page() == (GOLDEN / "page.txt").read_text(), "see tests/report/render.py"


NUMBERS: list[tuple[tuple[int, ...], str]] = [
    ((3,), "3"),
    ((12, 13), "12, 13"),
    ((0, 1, 2), "0, 1, 2"),
    ((0, 1, 2, 3), "0 to 3"),
    (tuple(range(1, 21)), "1 to 20"),
    ((2, 4, 6, 8), "2, 4, … 8"),
    ((1, 2, 4, 8), "1, 2, 4, 8"),
]


@pytest.mark.parametrize(("values", "text"), NUMBERS)
def test_numbers(values: tuple[int, ...], text: str) -> None:
    assert numbers(values) == text


ODD = samples.ODD_ROUNDS
ROLES: list[tuple[Role, str]] = [
    (
        Role(Part.OPERATION, "sum", ODD, (1,), (0,)),
        "sum: word 0; rounds 1, 3, … 19, quarter round 1",
    ),
    (
        Role(Part.OPERATION, "exclusive or", (7,), (1, 2, 3, 4), (12, 13, 14, 15)),
        "exclusive or: words 12 to 15; round 7, quarter rounds 1 to 4",
    ),
    (
        Role(Part.OPERATION, "sum with the initial state", words=(3,)),
        "sum with the initial state: word 3",
    ),
    (
        Role(Part.STEP, "rotation by 7", (2,), (4,), (4,)),
        "step of the rotation by 7: word 4; round 2, quarter round 4",
    ),
    (Role(Part.INITIAL, "", words=(0, 1, 2, 3)), "initial words 0 to 3 (constant)"),
    (Role(Part.INITIAL, "", words=(11, 12)), "initial words 11, 12 (counter, key)"),
    (Role(Part.MOVE, "", words=(4, 5, 6, 7)), "moves words 4 to 7"),
    (Role(Part.OUTPUT, "", words=(5,)), "output word 5"),
    (Role(Part.COUNTER, ""), "computes the counter"),
    (Role(Part.COUNTER, "stored"), "stores the counter"),
    (Role(Part.SAVE, "s0 of the caller"), "saves s0 of the caller"),
    (Role(Part.RESTORE, "s0"), "restores s0"),
    (Role(Part.WIPE, "t0, t1"), "wipes t0, t1"),
    (Role(Part.FRAME, "sp at entry - 96"), "stack pointer becomes sp at entry - 96"),
    (Role(Part.FRAME, ""), "moves the stack pointer"),
    (Role(Part.ADDRESS, "dst + 64"), "address: dst + 64"),
    (Role(Part.LOOP, "nblocks - index"), "loop: nblocks - index"),
    (Role(Part.BRANCH, "goes to 0x10"), "branch: goes to 0x10"),
    (Role(Part.CONSTANT, "0xa"), "constant: 0xa"),
    (Role(Part.CONSTANT, ""), "constant"),
    (Role(Part.RETURN, ""), "returns"),
]


@pytest.mark.parametrize(("role", "text"), ROLES)
def test_role_text(role: Role, text: str) -> None:
    assert role_text(role) == text


def test_every_kind_of_role_has_words() -> None:
    assert {role.part for role, _ in ROLES} == set(Part)


ACCESSES: list[tuple[MemoryAccess, str]] = [
    (
        MemoryAccess("write", "dst", 4, 64, 4, "output word 1", True),
        "writes dst 4 to 7 of each block: output word 1",
    ),
    (MemoryAccess("write", "dst", 64, 0, 1), "writes dst 64"),
    (MemoryAccess("read", "key", 0, 0, 16), "reads key 0 to 15"),
    (MemoryAccess("read", "code", 0x2F0, 0, 16), "reads code 0x2f0 to 0x2ff"),
    (
        MemoryAccess("write", "stack", -8, 0, 8, "s0 of the caller"),
        "writes stack sp\N{MINUS SIGN}8 to sp\N{MINUS SIGN}1: s0 of the caller",
    ),
    (
        MemoryAccess("write", "stack", 16, 0, 8, "depends on key words k2", True),
        "writes stack sp+16 to sp+23: a secret: depends on key words k2",
    ),
    (MemoryAccess("write", "counter", 8, 0, 4, "", True), "writes counter 8 to 11: a secret"),
    (MemoryAccess("read", "code", None, 0, 4), "reads code, at a place that is no constant"),
    (
        MemoryAccess("write", "", None, 0, 4, "", True),
        "writes memory of no single region",
    ),
]


@pytest.mark.parametrize(("access", "text"), ACCESSES)
def test_access_text(access: MemoryAccess, text: str) -> None:
    assert access_text(access) == text


def test_the_listing_is_divided_at_loops() -> None:
    found = stretches(samples.PROVED, samples.ANATOMY)
    assert [(one.title, [f"{row.instruction.address:x}" for row in one.rows]) for one in found] == [
        ("entry", ["360", "364", "3b8"]),
        ("block loop at 0x3c4, one pass for each block", ["3c4"]),
        ("loop at 0x418, 10 passes", ["418", "59c"]),
        ("behind the loop at 0x418, in the loop at 0x3c4", ["5a0", "648"]),
        ("behind the loop at 0x3c4", ["690", "6c0", "6c4"]),
    ]
    assert not any(row.faults for one in found for row in one.rows)


def faults(anatomy: Anatomy) -> dict[str, tuple[str, ...]]:
    rows = (row for one in stretches(samples.REFUTED, anatomy) for row in one.rows)
    return {f"{row.instruction.address:x}": row.faults for row in rows if row.faults}


def test_faults_stand_at_their_instructions() -> None:
    assert faults(samples.FAULTY_ANATOMY) == {"4a4": ("leaves the specification here first",)}


def test_refuted_obligations_stand_at_their_instructions() -> None:
    """Those of the variant at hand."""
    (output, stack) = samples.REFUTED.properties
    first = Check("stack/0x390", "no secret", Verdict.REFUTED, 0, instructions=(0x390,))
    checks = (first, replace(first, id="stack/0x394@variant1", instructions=(0x394,)))
    residue = Residue("r9", "depends on key word 1", "key-dependent", 0x398)
    result = replace(
        samples.REFUTED,
        properties=(output, replace(stack, checks=checks)),
        residues=(residue,),
        variants=(samples.BUILT, samples.PATCHED_VARIANT),
    )
    built = replace(samples.FAULTY_ANATOMY, variant=samples.BUILT.name)
    left = "leaves r9 at return, which depends on key word 1"
    expected = [
        (built, {0x390: ("breaks stack",), 0x398: (left,)}),
        (samples.FAULTY_ANATOMY, {0x394: ("breaks stack",), 0x398: (left,)}),
    ]
    for anatomy, wanted in expected:
        rows = (row for one in stretches(result, anatomy) for row in one.rows)
        found = {row.instruction.address: row.faults for row in rows if row.faults}
        del found[0x4A4]
        assert found == wanted


def test_memory() -> None:
    rows = {(one.region, one.kind): one for one in touched(samples.FAULTY_ANATOMY)}
    assert rows["counter", "write"].outside == (0x394,)
    assert rows["stack", "write"].secret
    assert not rows["", "write"].faulty  # it may be dst
    assert not rows["code", "read"].faulty
    assert rows["code", "read"].bytes == ()
    good = {(one.region, one.kind): one for one in touched(samples.ANATOMY)}
    assert good["dst", "write"].bytes == ((4, 7),)
    assert not any(one.faulty for one in good.values())


def cells(anatomy: Anatomy) -> dict[str, list[tuple[str, str, str]]]:
    """Of each panel the offset of the row, and the style and label of its cells."""
    return {
        panel.title: [
            (line.offset, cell.style, cell.full) for line in panel.lines for cell in line.cells
        ]
        for panel in picture(anatomy).panels
    }


def test_picture() -> None:
    good, bad = cells(samples.ANATOMY), cells(samples.FAULTY_ANATOMY)
    assert good["stack, frame of 96 bytes"] == [
        ("sp\N{MINUS SIGN}16", "untouched", ""),
        ("sp\N{MINUS SIGN}16", "written", "return address"),
    ]
    assert good["dst, each block of 64 bytes"][:3] == [
        ("+0", "untouched", ""),
        ("+0", "written", "word 1"),
        ("+0", "untouched", ""),
    ]
    assert ("+0", "outside", "outside") in bad["counter, 8 bytes"]
    assert ("sp\N{MINUS SIGN}96", "secret", "secret") in bad["stack, frame not constant"]


def test_picture_describes_itself() -> None:
    text = picture(samples.ANATOMY).description
    assert "dst: bytes 4 to 7 written" in text
    assert "key: bytes 0 to 3 read" in text
    assert picture(replace(samples.ANATOMY, instructions=())).description == (
        "Nothing is read or written"
    )


def test_loops() -> None:
    blocks, rounds = loop_rows(samples.LOOPS, samples.ANATOMY)
    assert blocks.does == "rounds 1, 3, … 19 of each block; output word 1"
    assert rounds.does == "rounds 1, 3, … 19: 1 round in each pass"
    assert dict(blocks.holds)["moves in each pass"] == "a0 = dst + 64*index (+64)"
    assert dict(rounds.holds)["moves in each pass"] == "a2 from 10 (-1)"
    assert loop_rows([LoopSummary(0x10, 1, "rounds")], None)[0].does == ""


def test_spans_lie_in_each_other() -> None:
    whole, blocks, rounds = spans(samples.LOOPS, samples.ANATOMY)
    assert (whole.x, whole.width) == (0, WIDTH)
    assert [whole.depth, blocks.depth, rounds.depth] == [0, 1, 2]
    assert whole.x < blocks.x < rounds.x
    assert rounds.x + rounds.width < blocks.x + blocks.width < whole.width
    assert spans(samples.LOOPS, replace(samples.ANATOMY, instructions=())) == []


def test_side_by_side() -> None:
    """Each fact in the column of its own function, also where another has none."""
    bare = replace(samples.PROVED, anatomies=(), loops=(), stack_writes=(), residues=())
    facts = dict(compared([samples.REFUTED, samples.PROVED, bare]))
    assert facts["architecture"] == ["powerpc64le", "loongarch64", "loongarch64"]
    assert facts["instructions"] == ["5", "11", ""]
    assert facts["stack frame"] == ["not constant", "96 bytes", ""]
    assert facts["stack writes"] == [
        "1 callee-saved, 1 secret",
        "1 callee-saved, 1 pointer",
        "none",
    ]
    text = render(Outcome((samples.REFUTED, samples.PROVED, bare)))
    assert text.count('<th scope="col" class="name">') == 2 * 3
    assert "Side by side" not in render(Outcome((samples.PROVED,)))


def test_a_result_without_an_anatomy_is_shown() -> None:
    """As those of an earlier version are."""
    loops = tuple(LoopSummary(one.head, one.blocks, one.part) for one in samples.LOOPS)
    text = render(Outcome((replace(samples.PROVED, anatomies=(), loops=loops),)))
    assert "<svg" not in text
    assert "block loop at 0x3c4" in text
    assert samples.TARGET.function_sha256 in text
