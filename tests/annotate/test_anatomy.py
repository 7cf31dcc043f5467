"""What is said of each instruction, against the assembler that the programs are written in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.proving import PROGRAMS, segments_of_program, target_of
from verify.anatomy import Anatomy, ListedInstruction, Part, Role
from verify.options import Options
from verify.verdict import LoopSummary, Result, Verdict

if TYPE_CHECKING:
    from verify.prove.segments import Segments

CHOSEN = (
    "arm64/scalar.so",
    "loongarch64/looped.so",
    "powerpc64le/unrolled.so",
    "riscv64/looped.so",
    "s390x/looped.so",
    "x86_64/looped.so",
)
OTHERS = tuple(name for name in PROGRAMS if name not in CHOSEN)
EVERY = [*CHOSEN, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)]


def all_proved(segments: Segments) -> dict[str, Verdict]:
    """The verdicts on a good program."""
    from verify.properties import counter, output

    stated = (*output.state(segments).obligations, *counter.state(segments).obligations)
    return {one.id: Verdict.PROVED for one in stated}


@cache
def annotated(name: str) -> tuple[Anatomy, tuple[LoopSummary, ...]]:
    """What is said of a good program."""
    segments = segments_of_program(name)
    from verify.annotate.anatomy import annotated

    return annotated(segments, all_proved(segments))


def roles(anatomy: Anatomy, *parts: Part) -> list[tuple[ListedInstruction, Role]]:
    """The roles of these kinds with their instructions."""
    return [(one, role) for one in anatomy.instructions for role in one.roles if role.part in parts]


def operations(anatomy: Anatomy) -> set[tuple[str, int, int, int]]:
    """(kind, round, quarter round, word) of what instructions are said to do, as far as the sets in
    a role allow it."""
    return {
        (role.what, number, quarter, word)
        for _, role in roles(anatomy, Part.OPERATION)
        for number in role.rounds or (0,)
        for quarter in role.quarter_rounds or (0,)
        for word in role.words
    }


def specified(segments: Segments) -> list[tuple[str, int, int, int]]:
    """The same of the specification's operations, but for those that add zero."""
    from verify.properties.output import comparison
    from verify.prove.place import operation

    of = comparison(segments).compared[0].specified
    found = []
    for number, (term, kind) in enumerate(zip(of.operations, of.kinds, strict=True)):
        made = operation(of, number)
        if not any(arg.value == 0 for arg in term.args):
            name = kind if made.round else "sum with the initial state"
            found.append((name, made.round, made.quarter_round, made.word))
    return found


@pytest.mark.parametrize("name", EVERY)
def test_every_operation_has_an_instruction(name: str) -> None:
    anatomy, _ = annotated(name)
    assert set(specified(segments_of_program(name))) <= operations(anatomy)


@pytest.mark.parametrize("name", EVERY)
def test_every_instruction_has_a_role(name: str) -> None:
    anatomy, _ = annotated(name)
    without = [one.text for one in anatomy.instructions if one.executed and not one.roles]
    assert without == []


@pytest.mark.parametrize("name", EVERY)
def test_code_is_listed_whole(name: str) -> None:
    anatomy, _ = annotated(name)
    target = target_of(name)
    code = "".join(one.code for one in anatomy.instructions)
    function = target.function
    assert bytes.fromhex(code) == target.code(function.address, function.size)
    assert [one.address for one in anatomy.instructions] == sorted(
        {one.address for one in anatomy.instructions}
    )


@pytest.mark.parametrize("name", EVERY)
def test_output_is_written_once(name: str) -> None:
    """Each byte of a block by one store that says which word it belongs to."""
    anatomy, _ = annotated(name)
    written: list[int] = []
    for one in anatomy.instructions:
        for access in one.accesses:
            if access.region == "dst":
                assert (access.kind, access.per_block) == ("write", 64)
                assert access.offset is not None
                places = range(access.offset, access.offset + access.size)
                written += places
                numbers = [int(number) for number in re.findall(r"\d+", access.holds)]
                assert (numbers[0], numbers[-1]) == (places[0] // 4, places[-1] // 4)
    assert sorted(set(written)) == list(range(64))


MNEMONICS: Mapping[str, Mapping[str, set[str]]] = {
    "loongarch64/looped.so": {
        r"add\.w": {"sum", "sum with the initial state"},
        r"xor": {"exclusive or"},
        r"rotri\.w .*0x10": {"rotation by 16"},
        r"rotri\.w .*0x14": {"rotation by 12"},
        r"rotri\.w .*0x18": {"rotation by 8"},
        r"rotri\.w .*0x19": {"rotation by 7"},
    },
    "x86_64/looped.so": {
        r"paddd": {"sum", "sum with the initial state"},
        r"pxor xmm[13], xmm[02]": {"exclusive or"},
        r"por": {"rotation by 16", "rotation by 12", "rotation by 8", "rotation by 7"},
    },
    "s390x/looped.so": {
        r"vaf": {"sum", "sum with the initial state"},
        r"vx": {"exclusive or"},
        r"verllf .*, 0xc": {"rotation by 12"},
        r"verllf .*, 7": {"rotation by 7"},
    },
}


@pytest.mark.parametrize(
    ("name", "mnemonic", "kinds"),
    [
        (name, mnemonic, kinds)
        for name, each in MNEMONICS.items()
        for mnemonic, kinds in each.items()
    ],
)
def test_what_an_instruction_does_is_its_role(name: str, mnemonic: str, kinds: set[str]) -> None:
    """Both ways: the mnemonic has no other role, and what else has the role has a mnemonic here."""
    anatomy, _ = annotated(name)
    meant = [one for one in anatomy.instructions if re.match(rf"{mnemonic}\b", one.text)]
    assert meant
    for one in meant:
        assert {role.part for role in one.roles} == {Part.OPERATION}
        assert {role.what for role in one.roles} <= kinds
    for one, role in roles(anatomy, Part.OPERATION):
        assert any(
            role.what in known and re.match(rf"{pattern}\b", one.text)
            for pattern, known in MNEMONICS[name].items()
        ) or (name, role.what) in {
            ("s390x/looped.so", "rotation by 16"),
            ("s390x/looped.so", "rotation by 8"),
        }


ROLES: list[tuple[str, str, str]] = [
    ("loongarch64/looped.so", "st.d s3, sp(0x30)", "save s3 of the caller"),
    ("loongarch64/looped.so", "st.d a2, sp(0x0)", "save counter"),
    ("loongarch64/looped.so", "ld.d s3, sp(0x30)", "restore s3; wipe s3"),
    ("loongarch64/looped.so", "ld.d a2, sp(0x0)", "address counter"),
    ("loongarch64/looped.so", "addi.d sp, sp,-0x60", "frame sp at entry - 96"),
    ("loongarch64/looped.so", "addi.d sp, sp,0x60", "frame sp at entry"),
    ("loongarch64/looped.so", "addi.d a0, a0,0x40", "address dst + 64*index + 64"),
    ("loongarch64/looped.so", "addi.w a2, a2, -0x1", "loop counts the passes of the loop at 0x418"),
    ("loongarch64/looped.so", "addi.d a1, a1,0x1", "counter"),
    ("loongarch64/looped.so", "move t5, zero", "wipe t5; constant 0x0"),
    ("loongarch64/looped.so", "move t5, s6", "initial"),
    ("loongarch64/looped.so", "ret", "return"),
    ("s390x/looped.so", "vperm %v0, %v0, %v0, %v17", "output"),
    ("s390x/looped.so", "larl %r1, 0x2f0", "address 0x2f0 in the image"),
    ("s390x/looped.so", "vsldb %v2, %v2, %v2, 8", "move"),
    ("x86_64/looped.so", "pslld xmm3, 8", "step rotation by 8"),
    ("x86_64/looped.so", "movdqa xmm8, xmm3", "move"),
    ("x86_64/looped.so", "pxor xmm8, xmm8", "wipe xmm8; constant 0x0"),
    ("x86_64/looped.so", "ret", "frame sp at entry + 8; return"),
]


@pytest.mark.parametrize(("name", "text", "expected"), ROLES)
def test_roles(name: str, text: str, expected: str) -> None:
    anatomy, _ = annotated(name)
    found = [one for one in anatomy.instructions if one.text == text]
    assert found
    for one in found:
        said = "; ".join(f"{role.part.value} {role.what}".strip() for role in one.roles)
        assert said == expected


def test_vectors_do_four_quarter_rounds_at_once() -> None:
    anatomy, _ = annotated("s390x/looped.so")
    (rotation,) = {
        role
        for _, role in roles(anatomy, Part.OPERATION)
        if role.what == "rotation by 12" and 1 in role.rounds
    }
    assert rotation.rounds == tuple(range(1, 20, 2))
    assert rotation.quarter_rounds == (1, 2, 3, 4)
    assert rotation.words == (4, 5, 6, 7)


def test_loops() -> None:
    _, (blocks, rounds) = annotated("loongarch64/looped.so")
    assert (blocks.part, blocks.passes, blocks.last, blocks.back) == ("blocks", 0, 0x648, (0x648,))
    assert (rounds.part, rounds.passes, rounds.last, rounds.back) == ("rounds", 10, 0x59C, (0x59C,))
    held = {one.place: (one.kind, one.value, one.step) for one in blocks.held}
    assert held["a0"] == ("advances", "dst + 64*index", 64)
    assert held["a1"] == ("counter", "the block's counter", 0)
    assert held["a3"] == ("advances", "nblocks - index", -1)
    assert held["s8"] == ("constant", "key word 7", 0)
    assert held["sp"] == ("constant", "sp at entry - 96", 0)
    assert held["sp-96"] == ("constant", "counter", 0)
    assert held["sp-16"] == ("constant", "fp of the caller", 0)
    assert held["t0"] == ("unknown", "", 0)
    state = {one.value: one.place for one in rounds.held if one.kind == "state"}
    assert [state[f"word {n}"] for n in (0, 4, 12, 13, 14, 15)] == [
        "a4",
        "t0",
        "t8",
        "ra",
        "fp",
        "s0",
    ]
    assert next(one for one in rounds.held if one.kind == "advances").value == "from 10"


@pytest.mark.parametrize(
    ("name", "frame", "stack"),
    [
        ("loongarch64/looped.so", -96, (-96, 0)),
        ("powerpc64le/unrolled.so", -128, (-128 - 288, 24)),
        ("x86_64/looped.so", 0, (-128, 8)),
    ],
)
def test_regions(name: str, frame: int, stack: tuple[int, int]) -> None:
    anatomy, _ = annotated(name)
    assert anatomy.frame == frame
    extents = {one.name: (one.first, one.behind) for one in anatomy.regions}
    assert extents == {"dst": (0, 64), "key": (0, 32), "counter": (0, 8), "stack": stack}


PROVEN = (Part.OPERATION, Part.STEP, Part.MOVE, Part.OUTPUT)
"""Roles that only a proof of the output establishes."""


def test_without_a_proof_of_the_output_no_word_is_named() -> None:
    from verify.annotate.anatomy import annotated

    anatomy, _ = annotated(segments_of_program("x86_64/looped.so"), {})
    assert not roles(anatomy, *PROVEN)
    assert roles(anatomy, Part.WIPE)
    holds = [one.holds for i in anatomy.instructions for one in i.accesses]
    assert not any("output" in text or "nblocks" in text for text in holds)


def test_what_rests_on_something_that_is_not_proved_is_not_said() -> None:
    """One obligation is not proved: the words that it is of, and all that are made of them."""
    from verify.annotate.anatomy import annotated
    from verify.properties.output import comparison

    segments = segments_of_program("powerpc64le/unrolled.so")
    compared = comparison(segments).compared[0]
    number = next(n for n, pair in enumerate(compared.found.pairs) if pair.kind == "rotation by 8")
    lost = {*all_proved(segments)} - {compared.obligations[number]}
    anatomy, _ = annotated(segments, dict.fromkeys(lost, Verdict.PROVED))
    left = operations(anatomy)
    assert left
    assert left <= set(specified(segments))
    # The first rotations by 8 are those of round 1; nothing behind them is established.
    assert {kind for kind, *_ in left} <= {
        "sum", "exclusive or", "rotation by 16", "rotation by 12"
    }  # fmt: skip
    assert {number for _, number, _, _ in left} == {1}
    assert not roles(anatomy, Part.OUTPUT)


def proved_without_execution(name: str) -> Result:
    from verify.run import prove

    return prove(target_of(name), Options(properties=("output", "counter"), replay=False))


def wiped(anatomy: Anatomy) -> set[str]:
    return {name for _, role in roles(anatomy, Part.WIPE) for name in role.what.split(", ")}


FAULTS: list[tuple[str, str]] = [
    ("register-not-wiped", "wipe t2"),
    ("missing-feed-forward", "sum with the initial state 9"),
    ("wrong-rotation", "rotation by 7"),
    ("counter-not-written", "counter stored"),
    ("register-not-restored", "restore s4"),
]


@pytest.mark.parametrize(("fault", "missing"), FAULTS)
def test_a_fault_shows(fault: str, missing: str) -> None:
    """What the good program has and the faulty one has not."""
    good, _ = annotated("loongarch64/looped.so")
    (bad,) = proved_without_execution(f"faults/loongarch64/{fault}.so").anatomies

    def said(anatomy: Anatomy) -> set[str]:
        return {
            f"{role.part.value} {role.what} {' '.join(map(str, role.words))}".strip()
            for one in anatomy.instructions
            for role in one.roles
        }

    lost = said(good) - said(bad)
    assert any(missing in text for text in lost), lost


@pytest.mark.parametrize(
    ("fault", "region", "offset", "secret"),
    [
        ("write-past-counter", "counter", 8, False),
        ("write-past-dst", "dst", 64, False),
        ("key-word-on-stack", "stack", -96, True),
    ],
)
def test_a_store_too_many_shows(fault: str, region: str, offset: int, secret: bool) -> None:
    (bad,) = proved_without_execution(f"faults/loongarch64/{fault}.so").anatomies
    (found,) = [
        access
        for one in bad.instructions
        for access in one.accesses
        if (access.kind, access.region, access.offset) == ("write", region, offset)
        and not access.holds.endswith("counter")
    ]
    assert found.secret is secret
    assert "output word" not in found.holds
    assert "nblocks" not in found.holds
