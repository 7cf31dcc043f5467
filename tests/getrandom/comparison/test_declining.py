"""Code that serves no call: proved where the kernel takes a branch in it away, and only if it hands
on every call. What is executed are instructions of AArch64 in front of the getrandom of a file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.getrandom.declines import (
    ALL,
    DECLINES,
    NOP,
    SYSTEM_CALL,
    declining,
    proved,
    results,
)
from verify.arch.kerneldata import Layout
from verify.getrandom.claims import Claim
from verify.getrandom.execution.program import program_of
from verify.getrandom.execution.refute import refutations
from verify.history import Program
from verify.verdict import Verdict


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
    return program_of(
        replace(target, function=getrandom, callee=target.function), Layout(0x1000, 0x2000)
    )


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
SIGN_OTHERWISE = 0xD503_237F  # pacibsp
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
        ((SIGN_OTHERWISE,), False),
        ((SIGN_OTHERWISE, GIVE_BACK), False),
    ],
    ids=[
        *("both", "moved", "below", "other pointer", "unsigned", "left signed", "never signed"),
        *("left signed with another key", "signed with another key"),
    ],
)
def test_a_signed_return_address(before: tuple[int, ...], right: bool) -> None:
    assert (proved((NOP, *before, *DECLINES), NOP) == ALL) is right


PUSH, POP = 0xF81F_0FFE, 0xF841_07FE  # str x30, [sp, #-16]!; ldr x30, [sp], #16


@pytest.mark.parametrize(
    "code",
    [
        (
            PUSH,
            0x9100_03E0,
            0xD280_0201,
            *SYSTEM_CALL[:2],
            POP,
            *DECLINES,
        ),  # mov x0, sp; mov x1, #16
        (NOP, 0xD280_0BA8, SYSTEM_CALL[1], *DECLINES),  # mov x8, #93: exit
        (NOP, 0xD280_07E8, SYSTEM_CALL[1], *DECLINES),  # mov x8, #63: read
    ],
    ids=["return address", "exit", "read"],
)
def test_the_kernel_may_not_be_asked_for_anything_else(code: tuple[int, ...]) -> None:
    assert proved(code, NOP) == set()
