"""Registers of which it is not known what callers, calls and processors make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.getrandom.adversaries import FEW, Adversary, entry_of, target_in
from verify.getrandom.claims import Claim
from verify.getrandom.prove import prove_getrandom
from verify.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

_DONE = "\t\tif (size == 0)\n\t\t\treturn;\n"
USES = {
    "x86_64": "mov %%eax, %%fs",  # the segment of the thread pointer
    "powerpc64le": "mtfsb1 31",  # the rounding mode
    "loongarch64": "csrrd $t5, 0x20",  # only the kernel may
}


@pytest.mark.parametrize(
    "architecture",
    [pytest.param(one, marks=() if one == "x86_64" else pytest.mark.every_fault) for one in USES],
)
def test_nothing_is_proved_of_code_that_uses_one(architecture: str, tmp_path: Path) -> None:
    statement = f'__asm__ volatile("{USES[architecture]}" : : : "memory");'
    filled = f"\t\tif (size == 0) {{\n\t\t\t{statement}\n\t\t\treturn;\n\t\t}}\n"
    path = Adversary("undescribed", Claim.ABI, _DONE, filled).path(tmp_path, architecture)
    results = prove_getrandom(target_in(path), entry_of(path), more=FEW)
    assert {one.verdict for one in results} == {Verdict.UNKNOWN}
    assert all("uses a register that is not described" in one.reason for one in results)
