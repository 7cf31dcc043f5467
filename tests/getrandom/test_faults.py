"""Every property has faults that break it, and executing them shows it, on every architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.history.interrupting import SHOWN as INTERRUPTED
from tests.history.interrupting import near_system_calls
from tests.history.programs import FAULTS, FAULTS_ELSEWHERE, elsewhere, faulty, named
from verify.getrandom.claims import Claim
from verify.getrandom.execution.interference import interferences
from verify.getrandom.execution.refute import refutations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from binaries.patches import Fault
    from verify.history import Program

COMPARED = frozenset({Claim.STACK.value, Claim.SECRECY.value, Claim.TIMING.value})
"""What pairs of calls show broken."""


ADDRESSES = frozenset({"looked-up-by-a-byte"})
"""Faults that show in the addresses of accesses only; it takes seconds to look at those."""


def paired(fault: Fault, one: Program) -> set[str]:
    """The properties that pairs of calls which differ in secrets show broken. What steers is looked
    for where a fault breaks what such pairs show, and in those of which there are binaries."""
    steers = fault in FAULTS or not COMPARED.isdisjoint(fault.refuted_by)
    return {*interferences(one, steers=steers, accesses=fault.name in ADDRESSES)}


def broken(
    fault: Fault, one: Program, instructions: Iterable[int], *, every: bool = True
) -> set[str]:
    """The properties that histories and pairs of calls show broken."""
    return refutations(one, instructions, every=every).keys() | paired(fault, one)


def test_every_property_has_faults() -> None:
    for architecture in {fault.architecture for fault in FAULTS}:
        mine = [fault for fault in FAULTS if fault.architecture == architecture]
        assert {name for fault in mine for name in fault.refuted_by} == set(Claim)


@pytest.mark.parametrize(
    "fault",
    [
        fault
        for fault in FAULTS
        if fault.architecture == "loongarch64"
        and not COMPARED.isdisjoint(fault.refuted_by)
        and fault.name not in ADDRESSES
    ],
    ids=named,
)
def test_pairs_show_what_is_listed(fault: Fault) -> None:
    assert paired(fault, faulty(fault)) == set(fault.refuted_by)


def test_pairs_say_nothing_where_other_bytes_are_given_out() -> None:
    (fault,) = (one for one in FAULTS if named(one) == "loongarch64/pos-not-reset")
    assert paired(fault, faulty(fault)) == set()


@pytest.mark.every_fault
@pytest.mark.parametrize("fault", FAULTS, ids=named)
def test_a_fault_breaks_what_is_listed_with_it(fault: Fault) -> None:
    one = faulty(fault)
    places = one.instructions if fault.name in INTERRUPTED else near_system_calls(one)
    assert broken(fault, one, places) == set(fault.refuted_by)


@pytest.mark.every_fault
@pytest.mark.parametrize("fault", FAULTS_ELSEWHERE, ids=named)
def test_a_fault_elsewhere_breaks_nothing_else(fault: Fault) -> None:
    one = elsewhere(fault)
    found = broken(fault, one, near_system_calls(one), every=False)
    assert found
    assert found <= set(fault.refuted_by)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS_ELSEWHERE, ids=named)
def test_a_fault_elsewhere_breaks_what_is_listed_with_it(fault: Fault) -> None:
    one = elsewhere(fault)
    assert broken(fault, one, near_system_calls(one)) == set(fault.refuted_by)
