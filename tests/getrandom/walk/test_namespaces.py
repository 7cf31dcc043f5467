"""Inside a time namespace a getrandom has to find the real data, and outside, too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.getrandom.adversaries import FEW, entry_of, target_in
from tests.getrandom.shared import ARCHITECTURES, FAULTS, built, layout
from verify.arch import by_name
from verify.arch.kerneldata import INSIDE, Layout, TimeNamespace
from verify.getrandom.claims import Claim
from verify.getrandom.execution.refute import refutations
from verify.getrandom.execution.stored import calls_of, history_of, stored
from verify.getrandom.layout import layout_of
from verify.getrandom.prove import DEFAULT, prove_getrandom
from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.events import PageRead
from verify.getrandom.walk.namespaces import IN_NAMESPACE, placed, said_of_namespace
from verify.history import program_in
from verify.history.catalogue import Histories
from verify.history.departure import departure
from verify.history.execution import execute
from verify.history.specified import specified
from verify.image import open_images
from verify.lift.machine import Unsupported
from verify.terms import Term, conjunction, const, equal, negate, var
from verify.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from binaries.patches import Fault
    from verify.history import Program

BASE = 0x10_0000
SHARED = Layout(0x1000, 0x1E20, TimeNamespace(0x1FFC, 0xE20))
OWN = Layout(0x1000, 0x2000)
MODE = PageRead(0, BASE - 0x1FFC, 4, var("mode", 32))
OUTSIDE = negate(IN_NAMESPACE)


@pytest.mark.parametrize(
    ("where", "fact", "distance", "offset"),
    [
        (OWN, None, 0x2000, 0),
        (OWN, None, 0x1FF8, 8),
        (OWN, None, 0x1000, None),
        (OWN, IN_NAMESPACE, 0xE20, None),
        (SHARED, None, 0x1E20, None),
        (SHARED, None, 0xE20, None),
        (SHARED, OUTSIDE, 0x1E20, 0),
        (SHARED, OUTSIDE, 0x1E18, 8),
        (SHARED, OUTSIDE, 0xE20, None),
        (SHARED, IN_NAMESPACE, 0xE20, 0),
        (SHARED, IN_NAMESPACE, 0xE18, 8),
        (SHARED, IN_NAMESPACE, 0x1E20, None),
    ],
)
def test_a_read_is_of_the_data_where_that_is_known(
    where: Layout, fact: Term | None, distance: int, offset: int | None
) -> None:
    read = PageRead(0, BASE - distance, 8, var("read", 64))
    facts = () if fact is None else (fact,)
    assert placed(where, BASE, facts, Questions(), read) == replace(read, offset=offset)


def test_clock_mode_says_where_a_process_is() -> None:
    said = said_of_namespace(SHARED, BASE, MODE)
    assert said is not None
    inside = equal(MODE.value, const(INSIDE, 32))
    follows = Questions().follows
    assert follows((said, inside), IN_NAMESPACE)
    assert follows((said, negate(inside)), OUTSIDE)
    assert follows((said, IN_NAMESPACE), inside)
    assert not follows((said,), IN_NAMESPACE)
    assert not follows((said,), OUTSIDE)


def test_it_is_the_same_each_time() -> None:
    other = replace(MODE, value=var("mode again", 32))
    both = [said_of_namespace(SHARED, BASE, one) for one in (MODE, other)]
    facts = conjunction(one for one in both if one is not None)
    inside, still = (equal(one.value, const(INSIDE, 32)) for one in (MODE, other))
    follows = Questions().follows
    assert follows((facts, inside), still)
    assert not follows((facts, negate(inside)), equal(MODE.value, other.value))


@pytest.mark.parametrize(
    ("where", "read"),
    [
        (OWN, MODE),
        (SHARED, replace(MODE, address=MODE.address + 4)),
        (SHARED, replace(MODE, address=MODE.address + 0x1000)),
        (SHARED, replace(MODE, size=8, value=var("wide", 64))),
    ],
)
def test_nothing_else_says_it(where: Layout, read: PageRead) -> None:
    assert said_of_namespace(where, BASE, read) is None


LATER = [
    pytest.param(one, marks=[] if one == "x86_64" else pytest.mark.every_fault)
    for one in ARCHITECTURES
]


def program(architecture: str, path: Path) -> Program:
    """What is executed."""
    (image,) = open_images(path)
    return program_in(image, layout(architecture))


@pytest.mark.parametrize("architecture", LATER)
def test_the_project_s_own_is_right_in_both_cases(architecture: str, tmp_path: Path) -> None:
    one = program(architecture, built(architecture, tmp_path))
    histories = Histories(one)
    every = [*histories.named().values(), *histories.inside().values()]
    kept = [history for history in every if len(history[0].answers) < 100]
    assert {step.inside for history in kept for step in history} == {False, True}
    done = execute(one, kept)
    wrong = [
        departure(list(specified(one, history)), did)
        for history, did in zip(kept, done, strict=True)
    ]
    assert set(wrong) == {""}


@pytest.mark.parametrize("architecture", LATER)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_a_history_inside_one_shows_a_fault(
    fault: Fault, architecture: str, tmp_path: Path
) -> None:
    one = program(architecture, built(architecture, tmp_path, fault))
    found = refutations(one, ())
    assert Claim.FALLBACK.value in found
    told = stored(one, found[Claim.FALLBACK.value])
    inside = [call.inside for call in told.calls]
    assert inside == [fault.name not in OUTSIDE_AS_WELL] * len(inside)
    assert ("inside a time namespace" in told.what) == inside[-1]
    assert calls_of(history_of(told.calls)) == told.calls


OUTSIDE_AS_WELL = ("namespace-everywhere", "namespace-reversed")
"""Those that break a property outside of a namespace, too, which is simpler."""


@pytest.mark.every_fault
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_project_s_own_is_proved(architecture: str, tmp_path: Path) -> None:
    path = built(architecture, tmp_path)
    target = target_in(path)
    assert target.linux_version == (6, 12, 0)
    assert layout_of(target, DEFAULT) == layout(architecture)
    found = prove_getrandom(target, entry_of(path), layout(architecture), FEW)
    assert [one.reason for one in found if one.verdict is not Verdict.PROVED] == []


@pytest.mark.every_fault
@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_no_fault_is_proved(fault: Fault, tmp_path: Path) -> None:
    path = built("x86_64", tmp_path, fault)
    found = prove_getrandom(target_in(path), entry_of(path), layout("x86_64"), FEW)
    reasons = {one.property: one.reason for one in found if one.verdict is not Verdict.PROVED}
    assert reasons[Claim.FALLBACK.value].startswith("on a path that ends at ")
    assert fault.name in RIGHT_PAGE or Claim.FOOTPRINT.value in reasons


RIGHT_PAGE = ("flags-lost-inside", "length-changed-inside")
"""Those that find the data, and are wrong inside a namespace all the same."""


def test_which_release_is_taken() -> None:
    """What the command says comes first, then the note, then what is usual today."""
    architecture = by_name("powerpc64le")
    port = architecture.getrandom_port
    assert port is not None
    assert port.layout() == port.layout(release=(7, 2)) == Layout(0x1000, 0x2000)
    shared = port.layout(release=(6, 12))
    assert shared == Layout(0x1000, 0x1D28, TimeNamespace(0x1F04, 0xD28))
    assert port.layout(release=(6, 13)) is None
    assert port.layout(0x1_0000, (6, 12)) == Layout(
        0x1_0000, 0x1_FD28, TimeNamespace(0x1_FF04, 0xFD28)
    )


def test_a_release_of_which_nothing_is_known(tmp_path: Path) -> None:
    target = replace(target_in(built("x86_64", tmp_path)), linux_version=(6, 14, 3))
    with pytest.raises(Unsupported, match=r"Linux 6\.14 has its data .* x86-64 is not known"):
        layout_of(target, DEFAULT)
    named = replace(DEFAULT, linux=(6, 12))
    assert layout_of(target, named) == layout("x86_64")
    assert layout_of(target, replace(DEFAULT, data_page=0x2000)) == Layout(0x1000, 0x2000)
