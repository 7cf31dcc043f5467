"""What a getrandom does with its stack pointer, and to the stack below and above it."""

from __future__ import annotations

import pytest

from tests.getrandom.declines import ALL, DECLINES, NOP, proved
from verify.getrandom.claims import Claim

ELSEWHERE = ALL - {Claim.ABI.value, Claim.FOOTPRINT.value}

PUSHED = (0xF81F_0FE0, 0xF841_07E0)  # str x0, [sp, #-16]!; ldr x0, [sp], #16
BELOW = (0xF81F_83E0,)  # stur x0, [sp, #-8]
ABOVE = (0xF800_07E0, 0xD100_03FF)  # str x0, [sp], #0; sub sp, sp, #0


@pytest.mark.parametrize(
    ("before", "kept"),
    [((), True), (PUSHED, True), (BELOW, False), (ABOVE, False)],
    ids=["nothing", "pushed", "below", "above"],
)
def test_what_is_stored_while_the_stack_pointer_moves(before: tuple[int, ...], kept: bool) -> None:
    found = proved((NOP, *before, *DECLINES), NOP)
    assert (Claim.ABI.value in found) is kept
    assert found >= ELSEWHERE
