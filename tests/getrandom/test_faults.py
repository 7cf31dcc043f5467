"""Every property has faults that break it, and executing them shows it, on every architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.history.interrupting import near_system_calls
from tests.history.programs import FAULTS, FAULTS_ELSEWHERE, elsewhere, faulty, named
from verify.getrandom.claims import Claim
from verify.getrandom.refute import refutations
from verify.getrandom.residues import residues

if TYPE_CHECKING:
    from collections.abc import Iterable

    from binaries.patches import Fault
    from verify.history import Program

UNSEEN = frozenset({Claim.TIMING.value})
"""What executing a fault does not show."""
LEAVING = frozenset({Claim.STACK.value, Claim.SECRECY.value})


def seen(fault: Fault) -> set[str]:
    """The properties that executing the fault is to show broken."""
    return set(fault.refuted_by) - UNSEEN


def broken(one: Program, instructions: Iterable[int], *, every: bool = True) -> set[str]:
    """The properties that histories, and pairs of calls that differ in secrets, show broken."""
    found = refutations(one, instructions, every=every)
    return found.keys() | {claim.value for claim in residues(one)}


def test_every_property_has_faults() -> None:
    for architecture in {fault.architecture for fault in FAULTS}:
        mine = [fault for fault in FAULTS if fault.architecture == architecture]
        assert {name for fault in mine for name in fault.refuted_by} == set(Claim)


@pytest.mark.parametrize(
    "fault", [one for one in FAULTS if not LEAVING.isdisjoint(one.refuted_by)], ids=named
)
def test_what_is_left_is_seen(fault: Fault) -> None:
    assert residues(faulty(fault)).keys() == set(fault.refuted_by)


@pytest.mark.every_fault
@pytest.mark.parametrize("fault", FAULTS, ids=named)
def test_a_fault_breaks_what_is_listed_with_it(fault: Fault) -> None:
    one = faulty(fault)
    assert broken(one, one.instructions) == seen(fault)


@pytest.mark.every_fault
@pytest.mark.parametrize("fault", FAULTS_ELSEWHERE, ids=named)
def test_a_fault_elsewhere_breaks_nothing_else(fault: Fault) -> None:
    one = elsewhere(fault)
    found = broken(one, near_system_calls(one), every=False)
    assert found <= seen(fault)
    assert bool(found) == bool(seen(fault))


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS_ELSEWHERE, ids=named)
def test_a_fault_elsewhere_breaks_what_is_listed_with_it(fault: Fault) -> None:
    one = elsewhere(fault)
    assert broken(one, near_system_calls(one)) == seen(fault)
