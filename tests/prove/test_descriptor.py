"""What a function descriptor says of r2 holds at entry, in the proof and under QEMU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.proving import segments_of_program, target_of
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.target import Target
from verify.terms import const
from verify.verdict import Verdict
from verify.witness import Inputs, execute
from verify.witness.execution import load_offset

import_angr()

from verify.prove.setting import register_value  # noqa: E402
from verify.run import prove  # noqa: E402

NAME = "powerpc64/looped.so"
TOC = 0x8000
CLEARS_R9 = 0x39200000
LOADS_BY_TOC = 0x81220000
"""lwz r9, 0(r2)"""


def test_it_is_a_constant() -> None:
    segments = segments_of_program(NAME)
    for segment in segments.exits:
        architecture = segments.target.architecture
        value = register_value(segment.machine, segments.engine, architecture, "r2")
        assert value is const(TOC, 64)


def test_it_moves_with_the_image() -> None:
    function = target_of(NAME).moved(0x1000).function
    assert function.toc == TOC + 0x1000


def test_under_qemu() -> None:
    target = target_of(NAME)
    (execution,) = execute(target, [Inputs((0,) * 8, 0, 1)])
    assert execution.initial_register("r2") == TOC + load_offset(target)
    (other,) = execute(
        replace(target, function=replace(target.function, toc=None)), [Inputs((0,) * 8, 0, 1)]
    )
    assert other.initial_register("r2") != TOC + load_offset(target)


def reading_by_toc(target: Target, address: int) -> Target:
    """The program, which also reads a word of the image at a distance from the TOC base."""
    displacement = (address - TOC) & 0xFFFF
    old, new = (word.to_bytes(4, "big") for word in (CLEARS_R9, LOADS_BY_TOC | displacement))
    (code,) = (part for part in target.segments if old in part.data)
    assert code.data.count(old) == 1
    return replace(
        target,
        segments=tuple(
            replace(part, data=part.data.replace(old, new)) if part is code else part
            for part in target.segments
        ),
    )


@pytest.mark.parametrize(("distance", "verdict"), [(0, Verdict.PROVED), (0x7000, Verdict.REFUTED)])
def test_a_constant_is_read_through_it(distance: int, verdict: Verdict) -> None:
    target = target_of(NAME)
    reading = reading_by_toc(target, target.function.address + distance)
    (footprint,) = prove(reading, Options(properties=("footprint",))).properties
    assert footprint.verdict is verdict


def test_without_it_no_such_read_is_allowed() -> None:
    target = target_of(NAME)
    reading = reading_by_toc(target, target.function.address)
    reading = replace(reading, function=replace(reading.function, toc=None))
    (footprint,) = prove(reading, Options(properties=("footprint",))).properties
    assert footprint.verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("powerpc64/looped.so", Verdict.PROVED), ("powerpc64elfv2/looped.so", Verdict.REFUTED)],
)
def test_the_places_of_parameters_are_the_callees_in_elfv1(name: str, verdict: Verdict) -> None:
    """A pointer is stored at 48(r1), the place of the first parameter in ELFv1."""
    target = target_of(name)
    old = CLEARS_R9.to_bytes(4, "big")
    new = (0xF8610030).to_bytes(4, "big")  # std r3, 48(r1)
    segments = tuple(replace(part, data=part.data.replace(old, new)) for part in target.segments)
    target = replace(target, segments=segments)
    found = prove(target, Options(properties=("footprint", "stack"))).properties
    assert {one.verdict for one in found} == {verdict}
