"""What a getrandom does with its stack pointer, and to the stack below and above it."""

from __future__ import annotations

import pytest

from tests.getrandom.declines import ALL, DECLINES, NOP, proved
from verify.getrandom.claims import Claim

ABI = {Claim.ABI.value}
BOTH = {Claim.ABI.value, Claim.FOOTPRINT.value}
NONE: set[str] = set()

PUSHED = (0xF81F_0FE0, 0xF841_07E0)  # str x0, [sp, #-16]!; ldr x0, [sp], #16
BELOW = (0xF81F_83E0,)  # stur x0, [sp, #-8]
ABOVE = (0xF800_07E0, 0xD100_03FF)  # str x0, [sp], #0; sub sp, sp, #0
PUSH, POP = 0xF81F_0FFE, 0xF841_07FE  # str x30, [sp, #-16]!; ldr x30, [sp], #16
DOWN, UP = 0xD100_43FF, 0x9100_43FF  # sub sp, sp, #16; add sp, sp, #16
STORE = 0xF900_03FE  # str x30, [sp]
NEXT = 0x1400_0001  # b: to the next instruction
ELSEWHERE = (0x9100_03E9, 0x9100_001F, 0x9100_013F)  # mov x9, sp; mov sp, x0; mov sp, x9


@pytest.mark.parametrize(
    ("before", "broken"),
    [
        ((), NONE),
        (PUSHED, NONE),
        (BELOW, BOTH),
        (ABOVE, BOTH),
        ((UP, DOWN), ABI),
        (ELSEWHERE, ALL),
        ((PUSH, UP, DOWN, POP), ALL),
        ((PUSH, UP, NEXT, DOWN, NEXT, POP), ALL),
        ((PUSH, UP, DOWN, STORE, POP), NONE),
        ((PUSH, UP, NEXT, DOWN, STORE, NEXT, POP), NONE),
    ],
    ids=[
        *("nothing", "pushed", "below", "above", "above for a moment", "elsewhere for a moment"),
        *("given up", "given up blocks ago", "stored again", "stored again blocks ago"),
    ],
)
def test_what_a_handler_may_overwrite(before: tuple[int, ...], broken: set[str]) -> None:
    assert proved((NOP, *before, *DECLINES), NOP) == ALL - broken
