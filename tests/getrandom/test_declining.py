"""Code that serves no call: proved where the kernel takes a branch in it away, and only if it hands
on every call. What is executed are instructions of AArch64 in front of the getrandom of a file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.getrandom.adversaries import target_in
from tests.history.programs import BINARIES
from verify.arch.patching import Condition
from verify.getrandom.claims import Claim
from verify.getrandom.program import program_of
from verify.getrandom.prove import prove_getrandom
from verify.getrandom.refute import refutations
from verify.history import Program
from verify.target import Alternative, Target
from verify.verdict import PropertyResult, Verdict

ALL = frozenset(claim.value for claim in Claim)
NOP = 0xD503_201F
ELSEWHERE = ALL - {Claim.ABI.value, Claim.FOOTPRINT.value}

SYSTEM_CALL = (0xD280_22C8, 0xD400_0001, 0xD65F_03C0)  # mov x8, #278; svc #0; ret
QUERY = (0x9280_04A0, 0xD65F_03C0)  # mov x0, #-ENOSYS; ret
BRANCHES = (0xB500_00E0, 0xB500_00C1, 0x3500_00A2, 0xB100_049F, 0x5400_0061)
"""cbnz x0; cbnz x1; cbnz w2; cmn x4, #1; b.ne: past the two instructions behind them."""
DECLINES = (*BRANCHES, *QUERY, *SYSTEM_CALL)
PUSHED = (0xF81F_0FE0, 0xF841_07E0)  # str x0, [sp, #-16]!; ldr x0, [sp], #16
BELOW = (0xF81F_83E0,)  # stur x0, [sp, #-8]
ABOVE = (0xF800_07E0, 0xD100_03FF)  # str x0, [sp], #0; sub sp, sp, #0


def declining(code: tuple[int, ...], gate: int | None) -> tuple[Target, int]:
    """A target and the entry of its getrandom, which is that code. `gate` is what the kernel puts
    in place of its first instruction on other processors."""
    path = BINARIES / "arm64/getrandom.so"
    target = target_in(path)
    entry = target.function.address
    data = b"".join(word.to_bytes(4, "little") for word in code)
    patch = Alternative(entry, data, Condition())
    assert len(data) <= target.function.size
    # ChaCha20 lies elsewhere: nothing calls it.
    elsewhere = replace(target.function, address=entry + 0x10_0000)
    target = replace(
        target,
        function=elsewhere,
        segments=tuple(segment.patched(patch) for segment in target.segments),
    )
    if gate is not None:
        other = Alternative(entry, gate.to_bytes(4, "little"), Condition((("feature", True),)))
        target = replace(target, left_out=(other,))
    return target, entry


def results(code: tuple[int, ...], gate: int | None) -> dict[str, PropertyResult]:
    """What is said of each property."""
    return {one.property: one for one in prove_getrandom(*declining(code, gate))}


def proved(code: tuple[int, ...], gate: int | None) -> set[str]:
    """The properties that are PROVED."""
    found = results(code, gate)
    assert found.keys() == ALL
    return {name for name, one in found.items() if one.verdict is Verdict.PROVED}


def test_it_is_told() -> None:
    found = results(DECLINES, NOP)
    assert {one.verdict for one in found.values()} == {Verdict.PROVED}
    told = {name for name, one in found.items() if one.findings}
    assert told == {Claim.PARAMS.value, Claim.FALLBACK.value}
    assert "serves no call" in found[Claim.FALLBACK.value].findings[0]


def executable(code: tuple[int, ...], gate: int | None) -> Program:
    """What histories are executed on."""
    target, entry = declining(code, gate)
    getrandom = replace(target.function, address=entry)
    return program_of(replace(target, function=getrandom, callee=target.function), 0x1000, 0x2000)


def test_it_is_executed_as_such() -> None:
    one = executable(DECLINES, NOP)
    assert one.declines
    assert refutations(one, ()) == {}


@pytest.mark.parametrize(
    ("code", "gate", "broken"),
    [(DECLINES, None, Claim.FALLBACK), ((*DECLINES[:5], NOP, *DECLINES[6:]), NOP, Claim.PARAMS)],
    ids=["no branch", "no query"],
)
def test_another_is_refuted(code: tuple[int, ...], gate: int | None, broken: Claim) -> None:
    one = executable(code, gate)
    assert not one.declines
    assert broken.value in refutations(one, ())


@pytest.mark.parametrize("gate", [None, DECLINES[0] ^ 1 << 5], ids=["none", "no nop"])
def test_without_a_branch_that_is_taken_away_it_falls_back_too_often(gate: int | None) -> None:
    assert not proved(DECLINES, gate) & {Claim.PARAMS.value, Claim.FALLBACK.value}


@pytest.mark.parametrize(
    ("code", "broken"),
    [
        ((NOP, *SYSTEM_CALL), Claim.FALLBACK),
        ((*DECLINES[:5], 0x9280_0480, *DECLINES[6:]), Claim.PARAMS),  # mov x0, #-37
        ((*DECLINES[:7], 0xD280_22A8, *DECLINES[8:]), Claim.FALLBACK),  # mov x8, #277
        ((*DECLINES[:8], 0xD280_0002, *DECLINES[8:]), Claim.FALLBACK),  # mov x2, #0
        ((*DECLINES[:9], 0xD280_0000, *DECLINES[9:]), Claim.FALLBACK),  # mov x0, #0
        ((0x3942_2460, 0xAA1F_03E0, *DECLINES), Claim.FALLBACK),  # ldrb w0, [x3, #137]
    ],
    ids=["no query", "errno", "number", "flags", "result", "state"],
)
def test_one_that_does_something_else(code: tuple[int, ...], broken: Claim) -> None:
    assert broken.value not in proved(code, NOP)


SIGN, GIVE_BACK = 0xD503_233F, 0xD503_23BF  # paciasp, autiasp
DOWN, UP = 0xD100_43FF, 0x9100_43FF  # sub sp, sp, #16; add sp, sp, #16
LEAVE = 0xAA1E_03E9, 0xAA09_03FE  # mov x9, x30; mov x30, x9


@pytest.mark.parametrize(
    ("before", "right"),
    [
        ((SIGN, GIVE_BACK), True),
        ((SIGN, *LEAVE, GIVE_BACK), True),
        ((SIGN, DOWN, UP, GIVE_BACK), True),
        ((SIGN, DOWN, GIVE_BACK, UP), False),
        ((LEAVE[0], SIGN, LEAVE[1], GIVE_BACK), False),
        ((SIGN,), False),
        ((GIVE_BACK,), False),
    ],
    ids=["both", "moved", "below", "other pointer", "unsigned", "left signed", "never signed"],
)
def test_a_signed_return_address(before: tuple[int, ...], right: bool) -> None:
    assert (proved((NOP, *before, *DECLINES), NOP) == ALL) is right


@pytest.mark.parametrize(
    ("before", "kept"),
    [((), True), (PUSHED, True), (BELOW, False), (ABOVE, False)],
    ids=["nothing", "pushed", "below", "above"],
)
def test_what_is_stored_while_the_stack_pointer_moves(before: tuple[int, ...], kept: bool) -> None:
    found = proved((NOP, *before, *DECLINES), NOP)
    assert (Claim.ABI.value in found) is kept
    assert found >= ELSEWHERE
