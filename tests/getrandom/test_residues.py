"""What is left of bytes that are not given out is seen, and nothing else is taken for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.getrandom.test_refute import program, target_of
from tests.getrandom.trouble import BAD, LEAVING
from tests.history.programs import EACH_ONCE, LAYOUTS
from verify.getrandom.claims import Claim
from verify.getrandom.program import program_of
from verify.getrandom.refuted import HARNESS, executed
from verify.getrandom.residues import residues
from verify.getrandom.setting import Layout
from verify.verdict import PropertyResult, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from tests.getrandom.adversaries import Adversary

LAYOUT = LAYOUTS["loongarch64/getrandom"]


def left(adversary: Adversary, directory: Path) -> dict[Claim, tuple[str, ...]]:
    target = target_of(adversary.path(directory, "loongarch64"))
    return residues(program_of(target, LAYOUT.page_size, LAYOUT.data_page))


@pytest.mark.parametrize("adversary", [*LEAVING[:-1], BAD], ids=lambda one: one.name)
def test_what_is_left_is_seen(adversary: Adversary, tmp_path: Path) -> None:
    found = left(adversary, tmp_path)
    assert adversary.breaks in found
    assert found.keys() <= {Claim.STACK, Claim.SECRECY}
    for first, second, seen in found.values():
        assert first.startswith("call 0: getrandom of ")
        assert second.startswith("call 1: getrandom of ")
        assert first.rpartition("state ")[2] != second.rpartition("state ")[2]
        assert seen.endswith(" after call 1")


@pytest.mark.parametrize("name", EACH_ONCE)
def test_good_ones_leave_nothing(name: str) -> None:
    assert residues(program(name)) == {}


@pytest.mark.parametrize("verdict", [Verdict.PROVED, Verdict.UNKNOWN])
def test_what_is_left_decides(verdict: Verdict, tmp_path: Path) -> None:
    target = target_of(BAD.path(tmp_path, "loongarch64"))
    given = [PropertyResult(claim.value, "", verdict, 0.0) for claim in (Claim.STACK, Claim.ABI)]
    layout = Layout(LAYOUT.page_size, LAYOUT.data_page)
    stack, abi = executed(target, layout, given).properties
    assert abi == given[1]
    if verdict is Verdict.PROVED:
        assert stack.verdict is Verdict.UNKNOWN
        assert stack.reason.startswith(f"{HARNESS}the byte at sp")
    else:
        assert stack.verdict is Verdict.REFUTED
        assert stack.reason.startswith("the byte at sp")
    assert len(stack.findings) == 2
