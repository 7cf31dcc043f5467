"""Each faulty variant breaks the property it is listed for, visibly under QEMU, and no other."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from binaries.patches import Fault, load
from tests.binaries.execution import (
    ROOT,
    executed_path,
    leaves_secrets_in_registers,
    random_calls,
    target,
)
from tests.proving import every_fault
from tests.witness.confirmations import CONFIRMATIONS
from verify.options import PROPERTIES
from verify.witness import search

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = load(ROOT / "binaries")
ARCHITECTURES = sorted({fault.architecture for fault in FAULTS})
# What the registers and the memory at the return, or that there is none, can show to be broken.
SHOWN_AT_RETURN = {"output", "counter", "footprint", "stack", "abi", "termination"}

CHANGE_THE_PATH = {"branch-on-key", "key-dependent-loop"}

per_fault = pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=every_fault(fault.path)) for fault in FAULTS],
    ids=lambda fault: f"{fault.architecture}/{fault.name}",
)


def visible(fault: Fault) -> set[str]:
    """The properties that are seen broken when the function is called."""
    return set(fault.refuted_by) & SHOWN_AT_RETURN if fault.at_return else set()


@per_fault
def test_breaks_what_is_listed_and_nothing_else(fault: Fault) -> None:
    breaches = search(target(fault.path))
    assert {breach.property for breach in breaches} == visible(fault)


@per_fault
def test_registers_at_return_depend_on_the_key_if_listed(fault: Fault) -> None:
    calls = [dataclasses.replace(call, counter=5) for call in random_calls("keys", 16)]
    leaves = leaves_secrets_in_registers(target(fault.path), calls)
    on_the_stack = "stack" in fault.refuted_by
    assert leaves == ("secrecy" in fault.refuted_by and not on_the_stack)


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
        executed_path(target(fault.path), dataclasses.replace(call, key=key), tmp_path, monkeypatch)
        for key in ((0,) * 8, (1,) * 8)
    )
    assert (one != two) == (fault.name in CHANGE_THE_PATH)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_property_has_faults_of_its_own(arch: str) -> None:
    mine = [fault for fault in FAULTS if fault.architecture == arch]
    alone = Counter(fault.refuted_by[0] for fault in mine if len(fault.refuted_by) == 1)
    assert set(alone) == set(PROPERTIES)
    assert len(mine) >= 12
    assert {fault.base for fault in mine} >= {"looped", "unrolled"}


def test_faults_that_are_named_here_exist() -> None:
    listed = {(fault.architecture, fault.name): fault for fault in FAULTS}
    assert {name for _, name in listed} >= CHANGE_THE_PATH
    for one in CONFIRMATIONS:
        fault = listed[one.architecture, one.fault]
        assert one.property in fault.refuted_by
        assert one.at_return == fault.at_return
