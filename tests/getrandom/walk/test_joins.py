"""What a joined path keeps of those in place of which it goes on."""

from __future__ import annotations

import pytest

from tests.getrandom.adversaries import setting_in
from tests.history.programs import BINARIES
from verify.getrandom.walk.alike import anything_else
from verify.getrandom.walk.paths import Path
from verify.getrandom.walk.setting import Setting, entry_machine
from verify.terms import const


@pytest.fixture(scope="module")
def setting() -> Setting:
    return setting_in(BINARIES / "x86_64/getrandom.so")


@pytest.mark.parametrize("first", [0, 1])
def test_a_register_that_only_one_path_has_come_across(setting: Setting, first: int) -> None:
    paths = [Path(entry_machine(setting), ()) for _ in "ab"]
    setting.write(paths[1].machine, "r15", const(7, 64))
    before = setting.read(entry_machine(setting), "r15")
    joined = anything_else((paths[first], paths[1 - first]))
    value = setting.read(joined, "r15")
    assert value is not before
    assert value.name.startswith("joined@")


def test_what_is_the_same_is_kept(setting: Setting) -> None:
    paths = [Path(entry_machine(setting), ()) for _ in "ab"]
    for path in paths:
        setting.write(path.machine, "r15", const(7, 64))
    assert setting.read(anything_else(paths), "r15").value == 7
