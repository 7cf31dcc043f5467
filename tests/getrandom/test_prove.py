"""A good getrandom is proved, and none that is wrong in the property that it breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from binaries.patches import Fault
from tests.getrandom.adversaries import (
    ADVERSARIES,
    BOUND_THAT_MOVES,
    FEW,
    HALF_WORD_LEFT,
    IN_WORDS,
    OTHER_ORDER,
    WORD_FROM_ELSEWHERE,
    WORDS_CHECKED,
    Adversary,
    built,
    entry_of,
    few,
    target_in,
)
from tests.getrandom.trouble import BAD, BESIDE, TROUBLE
from tests.history.programs import BINARIES, FAULTS, FAULTS_ELSEWHERE, LAYOUTS, PROGRAMS, named
from verify.arch.kerneldata import Layout
from verify.getrandom.claims import Claim
from verify.getrandom.prove import DEFAULT, prove_getrandom
from verify.image import open_images
from verify.verdict import PropertyResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from verify.target import Target
    from verify.terms import Term

DECIDED = {claim.value for claim in Claim}
ARCHITECTURES = (
    *("arm64", "arm64be", "loongarch64", "powerpc", "powerpc64"),
    *("powerpc64elfv2", "powerpc64le", "riscv64", "s390x", "x86_64"),
)
"""Those of which a good getrandom is proved."""
INSTRUCTION_SETS = ("arm64", "loongarch64", "powerpc64le", "riscv64", "s390x", "x86_64")
OURS = tuple(fault for fault in FAULTS if fault.architecture in ARCHITECTURES)
ELSEWHERE = tuple(
    fault
    for fault in FAULTS_ELSEWHERE
    if fault.architecture in {"arm64", "powerpc", "powerpc64", "riscv64", "s390x", "x86_64"}
)


def proved(
    path: Path, target: Target, layout: Layout | None = None, more: Iterable[Term] = ()
) -> set[str]:
    """The properties that are proved of the getrandom in a file."""
    (image,) = open_images(path)
    function = image.elf.getrandom
    assert function is not None
    results = prove_getrandom(target, function.address, layout, more)
    assert {one.property for one in results} == DECIDED
    assert {one.verdict for one in results} <= {Verdict.PROVED, Verdict.UNKNOWN}
    assert all(bool(one.reason) == (one.verdict is Verdict.UNKNOWN) for one in results)
    return {one.property for one in results if one.verdict is Verdict.PROVED}


@pytest.mark.parametrize("architecture", INSTRUCTION_SETS)
def test_a_good_one_for_few_calls(architecture: str) -> None:
    path = BINARIES / f"{architecture}/getrandom.so"
    assert proved(path, target_in(path), more=FEW) == DECIDED


@pytest.mark.parametrize("wrong", [None, BAD], ids=["good", "bad"])
def test_the_same_with_several_processes(wrong: Adversary | None, tmp_path: Path) -> None:
    path = wrong.path(tmp_path, "loongarch64") if wrong else BINARIES / "loongarch64/getrandom.so"
    target, entry = target_in(path), entry_of(path)
    one, several = (
        prove_getrandom(target, entry, None, FEW, replace(DEFAULT, jobs=jobs)) for jobs in (1, 2)
    )
    assert _timeless(one) == _timeless(several)


def _timeless(results: Iterable[PropertyResult]) -> list[PropertyResult]:
    return [
        replace(one, checks=tuple(replace(check, seconds=None) for check in one.checks))
        for one in results
    ]


@pytest.mark.every_fault
@pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if name.partition("/")[0] in ARCHITECTURES]
)
def test_a_good_one(name: str) -> None:
    path = BINARIES / f"{name}.so"
    assert proved(path, target_in(path), LAYOUTS[name]) == DECIDED


@pytest.mark.every_fault
@pytest.mark.parametrize("architecture", INSTRUCTION_SETS)
def test_a_check_in_the_other_order(architecture: str, tmp_path: Path) -> None:
    path = OTHER_ORDER.path(tmp_path, architecture)
    assert proved(path, target_in(path), more=FEW) == DECIDED


@pytest.mark.parametrize(
    "architecture",
    [
        pytest.param(one, marks=() if one == "loongarch64" else pytest.mark.every_fault)
        for one in INSTRUCTION_SETS
        if one != "riscv64"  # There the compiler makes several accesses of each.
    ],
)
def test_bytes_moved_in_words(architecture: str, tmp_path: Path) -> None:
    path = IN_WORDS.path(tmp_path, architecture)
    assert proved(path, target_in(path), more=FEW) == DECIDED


@pytest.mark.parametrize("architecture", ["loongarch64", "powerpc64le"])
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(WORD_FROM_ELSEWHERE, marks=pytest.mark.every_fault),
        pytest.param(HALF_WORD_LEFT, marks=pytest.mark.long),
    ],
    ids=lambda one: one.name,
)
def test_bytes_moved_wrongly_in_words(wrong: Adversary, architecture: str, tmp_path: Path) -> None:
    path = wrong.path(tmp_path, architecture)
    assert wrong.breaks.value not in proved(path, target_in(path), more=FEW)


@pytest.mark.parametrize("architecture", ["powerpc", "loongarch64"])
def test_words_of_a_generation_that_are_not_accessed_together(
    architecture: str, tmp_path: Path
) -> None:
    path = WORDS_CHECKED.path(tmp_path, architecture)
    target = target_in(path)
    broken = {Claim.FORK.value, Claim.GENERATION.value, Claim.STREAM.value}
    assert not broken & proved(path, target, more=few(target.architecture.bits))


def test_where_the_data_page_is_not() -> None:
    path = BINARIES / "loongarch64/getrandom.so"
    assert "fallback" not in proved(path, target_in(path), Layout(0x4000, 0x4000), FEW)


@pytest.mark.every_fault
def test_another_size_of_pages() -> None:
    path = BINARIES / "loongarch64/getrandom.so"
    assert "fallback" not in proved(path, target_in(path), Layout(0x1000, 0x8000), FEW)


@pytest.mark.parametrize(
    "adversary", [*ADVERSARIES[:2], BOUND_THAT_MOVES], ids=lambda one: one.name
)
def test_one_case_among_many(adversary: Adversary, tmp_path: Path) -> None:
    path = adversary.path(tmp_path, "loongarch64")
    assert adversary.breaks.value not in proved(path, target_in(path), more=FEW)


SLOW = {("block-left-out", "powerpc64le"), ("size-changed", "powerpc64le")}
"""A minute or more each."""


@pytest.mark.parametrize(
    ("adversary", "architecture"),
    [
        *(
            pytest.param(
                adversary,
                architecture,
                marks=pytest.mark.long
                if (adversary.name, architecture) in SLOW
                else pytest.mark.every_fault,
            )
            for number, adversary in enumerate(ADVERSARIES)
            for architecture in INSTRUCTION_SETS
            if number > 1 or architecture != "loongarch64"
        ),
        *(
            pytest.param(adversary, "loongarch64", marks=pytest.mark.every_fault)
            for adversary in TROUBLE
        ),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_one_case_among_many_others(
    adversary: Adversary, architecture: str, tmp_path: Path
) -> None:
    path = adversary.path(tmp_path, architecture)
    assert adversary.breaks.value not in proved(path, target_in(path), more=adversary.under)


@pytest.mark.every_fault
def test_of_a_third_attempt_nothing_is_known(tmp_path: Path) -> None:
    (adversary,) = (one for one in ADVERSARIES if one.name == "third-attempt")
    path = adversary.path(tmp_path, "loongarch64")
    assert proved(path, target_in(path), more=FEW) == {Claim.PARAMS}


@pytest.mark.every_fault
def test_of_a_register_only_the_bits_that_are_kept_count(tmp_path: Path) -> None:
    path = BESIDE.path(tmp_path, "loongarch64")
    assert proved(path, target_in(path), more=FEW) == DECIDED


def test_one_that_leaves_bytes_and_is_steered_by_them(tmp_path: Path) -> None:
    path = BAD.path(tmp_path, "loongarch64")
    broken = {Claim.FOOTPRINT, Claim.TIMING, Claim.STACK, Claim.SECRECY}
    assert proved(path, target_in(path), more=FEW) == set(Claim) - broken


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=pytest.mark.long if number % 9 else pytest.mark.every_fault)
        for number, fault in enumerate(OURS)
    ],
    ids=named,
)
def test_a_fault(fault: Fault) -> None:
    path = BINARIES.parent / fault.path
    broken = DECIDED & set(fault.refuted_by)
    assert broken
    assert not broken & proved(path, target_in(path))


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=pytest.mark.long if number % 17 else pytest.mark.every_fault)
        for number, fault in enumerate(ELSEWHERE)
    ],
    ids=named,
)
def test_a_fault_elsewhere(fault: Fault, tmp_path: Path) -> None:
    path = built(fault, tmp_path)
    assert not DECIDED & set(fault.refuted_by) & proved(path, target_in(path))


def test_an_architecture_that_is_not_described_is_unknown() -> None:
    path = BINARIES / "loongarch64/getrandom.so"
    target = target_in(path)
    other = replace(target, architecture=replace(target.architecture, getrandom_port=None))
    assert proved(path, other) == set()
