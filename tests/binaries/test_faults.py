"""Each faulty variant breaks the property it is listed for, visibly under QEMU, and no other."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from binaries.patches import ARCHITECTURES, Fault, load
from tests.binaries.execution import (
    ROOT,
    breaches,
    execute,
    executed_path,
    random_calls,
    unpreserved,
)

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = load(ROOT / "binaries" / "faults.toml")
PROPERTIES = {
    *("output", "counter", "footprint", "stack", "abi"),
    *("secrecy", "timing", "termination"),
}

# What these do wrong is undone before the return, or changes nothing but the time: the state at
# the return is that of the good program.
LEAVE_NO_TRACE = {
    "read-past-key",
    "reserved-register-used",
    "saves-before-frame",
    "key-word-spilled",
    "state-word-on-stack",
    "branch-on-key",
    "table-look-up",
    "key-dependent-loop",
}
CHANGE_THE_PATH = {"branch-on-key", "key-dependent-loop"}

per_fault = pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda fault: f"{fault.architecture}/{fault.name}"
)


def visible(fault: Fault) -> set[str]:
    """The properties that are broken in the state at the return."""
    return set() if fault.name in LEAVE_NO_TRACE else set(fault.refuted_by)


@per_fault
def test_breaks_what_is_listed_and_nothing_else(fault: Fault) -> None:
    calls = random_calls("faults", 48) + random_calls("in place", 16, in_place=True)
    found = set()
    for done in execute(ROOT / fault.path, calls, timeout=0.3):
        found |= breaches(done)
    assert found == visible(fault) - {"secrecy"}


@per_fault
def test_registers_at_return_depend_on_the_key_if_listed(fault: Fault) -> None:
    calls = [dataclasses.replace(call, counter=5) for call in random_calls("keys", 16)]
    other = [dataclasses.replace(call, key=call.key[::-1]) for call in calls]
    ends = (execute(ROOT / fault.path, keys) for keys in (calls, other))
    differ = any(unpreserved(one) != unpreserved(two) for one, two in zip(*ends, strict=True))
    assert differ == ("secrecy" in fault.refuted_by)


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.refuted_by == ("timing",)],
    ids=lambda fault: f"{fault.architecture}/{fault.name}",
)
def test_path_depends_on_the_key_if_a_branch_does(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (call,) = random_calls("path", 1)
    one, two = (
        executed_path(ROOT / fault.path, dataclasses.replace(call, key=key), tmp_path, monkeypatch)
        for key in ((0,) * 8, (1,) * 8)
    )
    assert (one != two) == (fault.name in CHANGE_THE_PATH)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_property_has_faults_of_its_own(arch: str) -> None:
    mine = [fault for fault in FAULTS if fault.architecture == arch]
    alone = Counter(fault.refuted_by[0] for fault in mine if len(fault.refuted_by) == 1)
    assert set(alone) == PROPERTIES
    assert len(mine) >= 12
    assert {fault.base for fault in mine} == {"looped", "unrolled"}


def test_names_of_faults_without_trace_exist() -> None:
    assert {fault.name for fault in FAULTS} >= LEAVE_NO_TRACE >= CHANGE_THE_PATH
