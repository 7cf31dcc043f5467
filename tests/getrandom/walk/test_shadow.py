"""The shadow stack, as code with control-flow integrity uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.getrandom.adversaries import Adversary, entry_of, setting_in, target_in
from tests.history.programs import BINARIES
from verify.getrandom.claims import Claim
from verify.getrandom.properties.stack import left_on_stack
from verify.getrandom.prove import prove_getrandom
from verify.getrandom.walk import shadow
from verify.getrandom.walk.paths import Path as Execution
from verify.getrandom.walk.setting import Setting, entry_machine
from verify.lift.machine import Unsupported
from verify.terms import var
from verify.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def setting() -> Setting:
    return setting_in(BINARIES / "riscv64/getrandom.so")


def test_what_was_pushed_last_is_taken_first(setting: Setting) -> None:
    machine = entry_machine(setting)
    for register in ("ra", "t0"):
        shadow.push(setting, machine, register)
    for register in ("t0", "ra"):
        shadow.check(setting, machine, register)
    shadow.returns(setting, machine)


def test_another_value_traps(setting: Setting) -> None:
    machine = entry_machine(setting)
    shadow.push(setting, machine, "ra")
    with pytest.raises(Unsupported, match="not shown to hold the same"):
        shadow.check(setting, machine, "t0")


def test_nothing_was_pushed(setting: Setting) -> None:
    with pytest.raises(Unsupported, match="not shown to hold the same"):
        shadow.check(setting, entry_machine(setting), "ra")


def test_what_was_pushed_is_left(setting: Setting) -> None:
    machine = entry_machine(setting)
    shadow.push(setting, machine, "ra")
    with pytest.raises(Unsupported, match="leaves something"):
        shadow.returns(setting, machine)


def test_what_was_taken_away_is_on_the_stack_still(setting: Setting) -> None:
    machine, secret = entry_machine(setting), var("secret", 64)
    setting.write(machine, "t0", secret)
    shadow.push(setting, machine, "t0")
    shadow.check(setting, machine, "t0")
    assert ("the shadow stack at +8, 8 bytes,", secret) in left_on_stack(Execution(machine, ()))


def test_code_that_pushes_and_does_not_check_is_unknown(tmp_path: Path) -> None:
    state = "\tstruct state *state = opaque_state;\n"
    pushed = state + '\t__asm__ volatile(".4byte 0xce104073");\n'
    path = Adversary("pushed", Claim.ABI, state, pushed).path(tmp_path, "riscv64")
    results = prove_getrandom(target_in(path), entry_of(path))
    assert {one.verdict for one in results} == {Verdict.UNKNOWN}
    assert all("shadow stack" in one.reason for one in results)
