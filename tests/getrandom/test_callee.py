"""A property of a getrandom stands only if those of the ChaCha20 do on which it rests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.proving import target_of
from tests.tables import faulty
from verify.getrandom.callee import NEEDS, proved_callee, resting_on
from verify.getrandom.claims import Claim
from verify.lift.angr_import import import_angr
from verify.options import PROPERTIES, PROPERTIES_OF, Options
from verify.verdict import Contract, PropertyResult, Verdict

STREAM = PropertyResult(Claim.STREAM.value, "what it says", Verdict.PROVED, 0.0)
EVERY = tuple(PropertyResult(claim.value, "what it says", Verdict.PROVED, 0.0) for claim in Claim)
BROKEN = {
    "looped": set(),
    "../faults/loongarch64/register-not-wiped": {Claim.STACK, Claim.SECRECY},
    "../faults/loongarch64/wrong-rotation": {Claim.STREAM, Claim.ERASURE, Claim.FORK},
    "../faults/loongarch64/branch-on-key": {Claim.TIMING, Claim.FORK},
    "../faults/loongarch64/register-not-restored": set(Claim) - {Claim.PARAMS},
}
"""What does not stand with which ChaCha20; the first is right."""


def proved(options: Options, name: str) -> dict[Claim, PropertyResult]:
    """The verdicts on a getrandom that is right and calls the ChaCha20 of that file."""
    import_angr()
    callee = proved_callee(target_of(f"loongarch64/{name}.so"), options, lambda _: None)
    asked = tuple(one for one in EVERY if one.property in options.properties)
    return {Claim(one.property): one for one in resting_on(asked, callee)}


@pytest.mark.parametrize("name", BROKEN)
def test_rests_on_its_chacha20(name: str) -> None:
    options = Options(PROPERTIES_OF[Contract.GETRANDOM], replay=False, contract=Contract.GETRANDOM)
    found = proved(options, name)
    assert found.keys() == set(Claim)
    unknown = {claim for claim, one in found.items() if one.verdict is Verdict.UNKNOWN}
    assert unknown == BROKEN[name]
    for claim, one in found.items():
        assert one.verdict is Verdict.UNKNOWN or one in EVERY
        assert one.reason.startswith("ChaCha20, which it calls, is ") == (claim in unknown)


def test_rests_on_each_variant_of_its_chacha20(tmp_path: Path) -> None:
    only = Options((Claim.STREAM.value,), replay=False, contract=Contract.GETRANDOM)
    chacha20 = faulty("loongarch64").target(tmp_path)
    (stream,) = resting_on([STREAM], proved_callee(chacha20, only, lambda _: None))
    assert stream.verdict is Verdict.UNKNOWN
    assert " (cpu feature 26): " in stream.reason
    as_built = replace(chacha20, alternatives=())
    assert resting_on([STREAM], proved_callee(as_built, only, lambda _: None)) == (STREAM,)


def test_nothing_is_proved_that_is_not_needed() -> None:
    only = Options((Claim.PARAMS.value,), replay=False, contract=Contract.GETRANDOM)
    target = target_of("loongarch64/looped.so")
    assert proved_callee(target, only, lambda _: None) is None
    assert proved(only, "looped") == {Claim.PARAMS: EVERY[0]}


def test_every_property_of_chacha20_is_needed() -> None:
    assert NEEDS.keys() == set(Claim)
    assert {name for names in NEEDS.values() for name in names} == set(PROPERTIES)
