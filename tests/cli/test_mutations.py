"""Never a PROVED that is not true: what QEMU shows to be broken is not proved.

Bytes of the function are changed at random, the result is proved, and executed on many inputs. A
property that the execution breaks must not be PROVED; whether the prover finds it REFUTED or
UNKNOWN does not matter here.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from verify.batch import targets_in
from verify.options import Options
from verify.qemu import QemuError
from verify.run import prove
from verify.target import CodeSegment, Target
from verify.verdict import Caveat, Verdict
from verify.witness import search

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = Options(budget=2_000_000, replay=False)


def target_of(name: str) -> Target:
    (target,) = targets_in(str(ROOT / f"binaries/{name}.so"), None)
    assert isinstance(target, Target)
    return target


TARGETS = [target_of(f"{a}/looped") for a in ("loongarch64", "powerpc64le", "riscv64", "x86_64")]


@st.composite
def mutants(draw: st.DrawFn) -> Target:
    """A good function with one or two bits flipped."""
    target = draw(st.sampled_from(TARGETS))
    function = target.function
    bits = st.integers(8 * function.address, 8 * (function.address + function.size) - 1)
    flips = draw(st.sets(bits, min_size=1, max_size=2))

    def flip(segment: CodeSegment) -> CodeSegment:
        data = bytearray(segment.data)
        for bit in flips:
            offset = bit // 8 - segment.address
            if 0 <= offset < len(data):
                data[offset] ^= 1 << bit % 8
        return dataclasses.replace(segment, data=bytes(data))

    return dataclasses.replace(target, segments=tuple(map(flip, target.segments)))


def nothing_untrue_is_proved(target: Target) -> None:
    result = prove(target, OPTIONS)
    verdicts = {found.property: found.verdict for found in result.properties}
    assume(Verdict.PROVED in verdicts.values())
    try:
        broken = {breach.property for breach in search(target)}
    except QemuError:
        # The lifter reads an instruction that QEMU does not know, so it cannot have been compared.
        assert Caveat.LIFTER_UNCHECKED in result.caveats
        return
    untrue = [name for name in broken if verdicts.get(name) is Verdict.PROVED]
    assert not untrue


@given(mutants())
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_mutants(target: Target) -> None:
    nothing_untrue_is_proved(target)


@pytest.mark.long
@given(mutants())
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
def test_thousands_of_mutants(target: Target) -> None:
    nothing_untrue_is_proved(target)
