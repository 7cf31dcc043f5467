"""Pairs of calls show what is left of secrets and what these steer, and nothing else is taken for
it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from specs.opaque_state import BATCH_BYTES
from tests.getrandom.adversaries import Adversary
from tests.getrandom.execution.test_refute import program, target_of
from tests.getrandom.trouble import BAD, LASTING, LEAVING, STEERED
from tests.history.programs import BINARIES, EACH_ONCE, FAULTS, LAYOUTS, named
from verify.cli import run
from verify.getrandom.claims import Claim
from verify.getrandom.execution.interference import again, interferences
from verify.getrandom.execution.nearest import difference, nearest
from verify.getrandom.execution.pairs import (
    ASKED,
    BLOCKS,
    FEW_BYTES,
    LONGER,
    REFILLED,
    SERVED,
    Pair,
    any_secrets,
    executed_sides,
    ones,
    quiet,
    some,
    unequal,
)
from verify.getrandom.execution.program import program_of
from verify.getrandom.execution.refuted import HARNESS, executed
from verify.getrandom.execution.remnants import remnants
from verify.getrandom.execution.residues import residues
from verify.getrandom.execution.steered import accessed, steered
from verify.history.model import Harm
from verify.output import write_text
from verify.resultjson import Outcome, dumps, to_json
from verify.summary import target_summary
from verify.verdict import (
    CalledFunction,
    Contract,
    Environment,
    PropertyResult,
    Result,
    Verdict,
)

if TYPE_CHECKING:
    from pathlib import Path

    from verify.getrandom.execution.seen import Seen
    from verify.history import Program

LAYOUT = LAYOUTS["loongarch64/getrandom"]
BEQZ = 0x10
"""The most significant 6 bits of beqz."""
each = pytest.mark.parametrize("name", EACH_ONCE)


def wrong(adversary: Adversary, directory: Path) -> Program:
    target = target_of(adversary.path(directory, "loongarch64"))
    return program_of(target, LAYOUT)


@pytest.mark.parametrize("adversary", [*LEAVING[:-1], BAD], ids=lambda one: one.name)
def test_what_is_left_is_seen(adversary: Adversary, tmp_path: Path) -> None:
    one = wrong(adversary, tmp_path)
    found = list(residues(one, list(quiet(one))))
    assert adversary.breaks in {seen.property for seen in found}
    for seen in found:
        assert seen.property in (Claim.STACK, Claim.SECRECY)
        assert seen.text.endswith(" after call 1")
        assert seen.done[0].buffer == seen.done[1].buffer


_REFILL = "\t\tchacha20_blocks(state->batch, state->key, counter, REFILL_BLOCKS);\n"
_SPILLED = "\t\t\tvolatile u32 spilled = state->key[3];\n\n\t\t\t(void)spilled;\n"
_LOADED = '\t\t\t__asm__ volatile("ld.wu $t5, %0, 96" : : "r"(state) : "$t5", "memory");\n'
SHOWN_BY_BLOCKS = (
    Adversary(
        "old-key-spilled-with-blocks",
        Claim.STACK,
        _REFILL,
        f"\t\tif (count != 0) {{\n{_SPILLED}\t\t}}\n{_REFILL}",
    ),
    Adversary(
        "new-key-in-a-register-with-blocks",
        Claim.SECRECY,
        _REFILL,
        f"{_REFILL}\t\tif (count != 0) {{\n{_LOADED}\t\t}}\n",
    ),
)
"""They leave a word of a key where blocks are given out."""


@pytest.mark.parametrize("adversary", SHOWN_BY_BLOCKS, ids=lambda one: one.name)
def test_words_of_keys_are_seen(adversary: Adversary, tmp_path: Path) -> None:
    one = wrong(adversary, tmp_path)
    assert not list(residues(one, list(quiet(one))))
    found = list(remnants(one, list(unequal(one))))
    assert {seen.property for seen in found} == {adversary.breaks}
    assert len({seen.pair for seen in found}) == len(BLOCKS)
    key = "old key" if adversary.breaks is Claim.STACK else "new key"
    assert any(f"of the {key} after both calls" in seen.text for seen in found)


NEW_KEY_LEFT = Adversary(
    "new-key-in-a-register", Claim.SECRECY, _REFILL, f"{_REFILL}{_LOADED.strip()}\n"
)


@pytest.mark.parametrize(
    ("adversary", "differing"),
    [(LEAVING[1], "byte 95 of the batch"), (NEW_KEY_LEFT, "bytes of the key")],
    ids=["batch", "key"],
)
def test_pairs_differ_in_little(adversary: Adversary, differing: str, tmp_path: Path) -> None:
    one = wrong(adversary, tmp_path)
    seen = next(residues(one, list(quiet(one))))
    assert difference(seen.pair).endswith("bytes of the key")
    found = nearest(one, seen)
    assert difference(found.pair) == differing
    assert found.observation == seen.observation
    assert found.property is adversary.breaks
    assert again(one, found.property, found.pair) == found


@each
def test_good_ones_leave_nothing(name: str) -> None:
    one = program(name)
    assert not list(residues(one, list(quiet(one))))
    assert not list(remnants(one, list(unequal(one))))


def test_what_is_given_out_is_no_residue() -> None:
    """Calls that do not give out the same are not compared."""
    one = program("loongarch64/getrandom")
    pairs = list(any_secrets(one, (*SERVED, *REFILLED), (some(0),)))[::2]
    assert all(len({*pair.seeds}) == 1 for pair in pairs)
    assert not list(residues(one, pairs))


def test_what_a_wrong_call_leaves_is_not_judged() -> None:
    """It writes the rest of an old batch, in vain, which the kernel then writes over."""
    (fault,) = (one for one in FAULTS if named(one) == "loongarch64/pos-not-reset")
    one = program(fault.path)
    assert not list(residues(one, list(quiet(one))))


PARTING = (SERVED[0], REFILLED[0], ASKED[2])
"""Calls that are served, that refill, and that try twice."""


def parting(one: Program) -> list[Seen]:
    return list(steered(one, list(any_secrets(one, PARTING, (ones, some(0))))))


def accessing(one: Program) -> list[Seen]:
    return list(accessed(one, list(any_secrets(one, FEW_BYTES[:1], (some(0),)))))


BRANCHING = [one for one in STEERED[:-1] if one.name.startswith("branch")]
OTHERS = [one for one in STEERED[:-1] if not one.name.startswith("branch")]


@pytest.mark.parametrize(
    "adversary",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.every_fault] if number else [])
        for number, one in enumerate(BRANCHING)
    ],
)
def test_where_calls_part_is_the_branch(adversary: Adversary, tmp_path: Path) -> None:
    """beqz, 8, and what is behind it."""
    one = wrong(adversary, tmp_path)
    found = parting(one)
    assert {seen.property for seen in found} == {Claim.TIMING}
    at = found[0].observation.instruction
    assert at is not None
    (code,) = (
        data[at - first :][:4] for first, data in one.segments if 0 <= at - first < len(data)
    )
    assert int.from_bytes(code, "little") >> 26 == BEQZ
    ends = {
        f"behind {at:#x} call 0 goes on at {at + 8 - n:#x}, call 1 at {at + 4 + n:#x}"
        for n in (0, 4)
    }
    assert found[0].text in ends


@pytest.mark.parametrize(
    "adversary",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.every_fault] if number else [])
        for number, one in enumerate(OTHERS)
    ],
)
def test_what_is_accessed_or_multiplied_is_seen(adversary: Adversary, tmp_path: Path) -> None:
    found = accessing(wrong(adversary, tmp_path))
    assert {seen.property for seen in found} == {Claim.TIMING}
    place = found[0].observation.instruction
    what = "address" if adversary.name == "looked-up-by-a-byte" else "operand"
    assert found[0].text.startswith(f"the {what} of the instruction at {place:#x} is ")


@pytest.mark.every_fault
def test_a_call_without_end_is_not_traced(tmp_path: Path) -> None:
    """What steers it cannot be told from where the clock stops it."""
    (met,) = (one for one in LONGER if one.length == 200)
    (adversary,) = (one for one in LASTING if one.name == "endless-for-one-length")
    left = met.length - (BATCH_BYTES - met.pos)
    endless = replace(adversary, new=adversary.new.replace("203", str(left)))
    one = wrong(endless, tmp_path)
    pairs = list(any_secrets(one, (met,), (ones,)))
    done = executed_sides(one, pairs)
    assert {breach.harm for each in done.values() for breach in each.breaches} == {Harm.ENDLESS}
    assert list(steered(one, pairs)) == []


def test_nothing_steers_a_good_one() -> None:
    assert parting(program("loongarch64/getrandom")) == []


@pytest.mark.every_fault
@each
def test_good_ones_are_not_refuted(name: str) -> None:
    assert interferences(program(name)) == {}


@pytest.mark.every_fault
def test_what_is_seen_is_seen_again(tmp_path: Path) -> None:
    one = wrong(BAD, tmp_path)
    found = interferences(one)
    assert found.keys() == {Claim.STACK, Claim.SECRECY, Claim.TIMING}
    right = program("loongarch64/getrandom")
    for claim, seen in found.items():
        assert again(one, claim, seen.pair) == seen
        assert again(right, claim, seen.pair) is None
        calm = Pair((seen.pair.steps[0], seen.pair.steps[0]), (seen.pair.seeds[0],) * 2)
        assert again(one, claim, calm) is None


def open_(claim: Claim) -> PropertyResult:
    return PropertyResult(claim.value, "", Verdict.UNKNOWN, 0.0, reason="not shown")


@pytest.mark.parametrize(
    "claim", [Claim.STACK, pytest.param(Claim.TIMING, marks=pytest.mark.every_fault)]
)
def test_verdict_and_replay(
    claim: Claim, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = target_of(BAD.path(tmp_path, "loongarch64"))
    callee = target.callee
    assert callee is not None
    proved = replace(open_(Claim.SECRECY), verdict=Verdict.PROVED, reason="")
    given = [open_(claim), open_(Claim.ABI), proved]
    refuted, abi, secrecy = executed(target, LAYOUT, given).properties
    assert abi == given[1]
    assert secrecy.verdict is Verdict.UNKNOWN
    assert secrecy.reason.startswith(HARNESS)
    assert secrecy.findings[0].startswith("call 0: getrandom(")
    assert secrecy.pair is None
    assert refuted.verdict is Verdict.REFUTED
    assert refuted.history is None
    assert refuted.pair is not None
    assert refuted.pair.what == refuted.reason == refuted.pair.account[-1]
    assert refuted.pair.account[-2] == "they differ in byte 95 of the batch"
    called = CalledFunction(callee.name, callee.address, callee.size, "", callee.located)
    result = Result(
        target_summary(target, None),
        (refuted,),
        contract=Contract.GETRANDOM,
        environment=Environment(LAYOUT.page_bytes, LAYOUT.data_page, called),
    )
    file = tmp_path / "result.json"
    write_text(str(file), dumps(to_json(Outcome((result,)))))
    assert run(["replay", str(file)]) == 1
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"{target.source}: {claim}: {refuted.reason}"
    assert lines[: len(refuted.pair.account)] == [f"  {line}" for line in refuted.pair.account]
    assert lines[-2].startswith("  reproduced just so, by qemu-")
    right = BINARIES / "loongarch64/getrandom.so"
    moved = replace(result, target=target_summary(target_of(right), None))
    write_text(str(file), dumps(to_json(Outcome((moved,)))))
    assert run(["replay", str(file)]) == 3
    assert "does not reproduce" in capsys.readouterr().out
