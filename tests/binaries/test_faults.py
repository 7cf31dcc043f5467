"""Each faulty variant breaks the property it is listed for, visibly under QEMU, and no other."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from binaries.patches import ARCHITECTURES, Fault, load
from tests.binaries.execution import ROOT, breaches, execute, random_calls, unpreserved

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
    calls = random_calls(fault.name, 48) + random_calls(fault.name, 16, in_place=True)
    found = set()
    for done in execute(ROOT / fault.path, calls, timeout=0.5):
        found |= breaches(done)
    assert found == visible(fault) - {"secrecy"}


@per_fault
def test_registers_at_return_depend_on_the_key_if_listed(fault: Fault) -> None:
    calls = [dataclasses.replace(call, counter=5) for call in random_calls(fault.name, 16)]
    other = [dataclasses.replace(call, key=call.key[::-1]) for call in calls]
    ends = (execute(ROOT / fault.path, keys) for keys in (calls, other))
    differ = any(unpreserved(one) != unpreserved(two) for one, two in zip(*ends, strict=True))
    assert differ == ("secrecy" in fault.refuted_by)


@per_fault
def test_path_depends_on_the_key_if_listed(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """QEMU logs the address of each translation block that it executes."""
    (call,) = random_calls(fault.name, 1)
    keys = ((0,) * 8, (1,) * 8)
    paths = []
    for number, key in enumerate(keys):
        log = tmp_path / str(number)
        monkeypatch.setenv("QEMU_LOG", "exec,nochain")
        monkeypatch.setenv("QEMU_LOG_FILENAME", str(log))
        execute(ROOT / fault.path, [dataclasses.replace(call, counter=5, key=key)])
        lines = (line.split("[")[1] for line in log.read_text().splitlines() if "Trace" in line)
        paths.append([line.split("/")[1] for line in lines])
    assert paths[0]
    assert (paths[0] != paths[1]) == (fault.name in CHANGE_THE_PATH)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_property_has_faults_of_its_own(arch: str) -> None:
    mine = [fault for fault in FAULTS if fault.architecture == arch]
    alone = Counter(fault.refuted_by[0] for fault in mine if len(fault.refuted_by) == 1)
    assert set(alone) == PROPERTIES
    assert len(mine) >= 12
    assert {fault.base for fault in mine} == {"looped", "unrolled"}


def test_names_of_faults_without_trace_exist() -> None:
    assert {fault.name for fault in FAULTS} >= LEAVE_NO_TRACE >= CHANGE_THE_PATH
