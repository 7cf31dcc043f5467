"""What a loop does on its way back, which no path behind it has done."""

from __future__ import annotations

import pytest

from tests.getrandom.declines import DECLINES, NOP, proved
from verify.getrandom.claims import Claim

COUNTED = (
    0x9240_142A,  # and x10, x1, #63
    0xD280_0009,  # mov x9, #0
    0xEB0A_013F,  # cmp x9, x10
    0x5400_0080,  # b.eq: past the loop
    NOP,
    0x9100_0529,  # add x9, x9, #1
    0x17FF_FFFC,  # b: to the comparison
)
KEPT = 0xAA09_03EB  # mov x11, x9
RESERVED = 0xAA09_03F2  # mov x18, x9


@pytest.mark.parametrize("does", [NOP, KEPT, RESERVED], ids=["nothing", "another", "reserved"])
def test_a_register_that_is_written_on_the_way_back(does: int) -> None:
    code = (NOP, *COUNTED[:4], does, *COUNTED[5:], *DECLINES)
    assert (Claim.ABI.value in proved(code, NOP)) is (does != RESERVED)
