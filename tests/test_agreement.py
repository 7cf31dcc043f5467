"""Two lifters have to agree; what they do not agree on is UNKNOWN."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.proving import BINARIES, proved, target_of
from tests.report.samples import GETRANDOM, PROVED, REFUTED
from verify.agreement import agreed
from verify.arch import Reading
from verify.cli import run
from verify.errors import InputError
from verify.lift.angr_import import import_angr
from verify.options import PROPERTIES, Options
from verify.resultjson import Outcome
from verify.verdict import PropertyResult, Result, VariantSummary, VariantVerdict, Verdict

import_angr()

from verify.run import prove  # noqa: E402

BOTH = Options(both_lifters=True)
VEX = replace(PROVED, lifters=("vex",))
PCODE = replace(PROVED, lifters=("pcode",))


@pytest.mark.parametrize("name", ["powerpc64le/looped.so", "powerpc64/unrolled.so"])
def test_both_prove_everything(name: str) -> None:
    result = prove(target_of(name), BOTH)
    assert {one.property: one.verdict for one in result.properties} == dict.fromkeys(
        PROPERTIES, Verdict.PROVED
    )
    assert result.lifters == ("vex", "pcode")
    assert {"pyvex", "pypcode"} <= set(result.tools)
    assert "VEX and SLEIGH agree on every property" in result.findings
    checks = {check.id for one in result.properties for check in one.checks}
    alone = proved(name)
    assert checks > {check.id for one in alone.properties for check in one.checks}
    assert {check.rpartition("@")[2] for check in checks if "@" in check} == {"pcode"}
    assert alone.lifters == ("vex",)


def test_both_refute_the_same() -> None:
    result = prove(target_of("faults/powerpc/byte-order.so"), BOTH)
    found = {one.property: one.verdict for one in result.properties}
    assert [name for name in PROPERTIES if found[name] is not Verdict.PROVED] == ["output"]
    assert found["output"] is Verdict.REFUTED
    assert result.properties[0].counterexample is not None


def test_a_lifter_at_fault_is_no_proof() -> None:
    """The second lifter is told that the first two arguments are in each other's registers."""
    target = target_of("powerpc64/looped.so")
    right = target.architecture.other_reading
    assert right is not None
    swap = {"r3": "r4", "r4": "r3"}
    wrong = Reading(
        right.lifter,
        tuple(replace(one, storage=swap.get(one.storage, one.storage)) for one in right.registers),
        right.scratch,
    )
    target = replace(target, architecture=replace(target.architecture, other_reading=wrong))
    result = prove(target, replace(BOTH, properties=("output", "termination")))
    output, termination = result.properties
    assert output.verdict is Verdict.UNKNOWN
    assert output.reason.startswith("fault of the harness: VEX has PROVED, SLEIGH has ")
    assert termination.verdict is Verdict.PROVED
    assert "fault of the harness: VEX and SLEIGH disagree on output" in result.findings
    assert Outcome((result,)).exit_code == 3


def test_one_lifter() -> None:
    with pytest.raises(InputError, match="there is only one lifter for LoongArch 64-bit"):
        prove(target_of("loongarch64/looped.so"), BOTH)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("powerpc64le/looped.so", "--certificate", "out"), "a certificate is of one lifter"),
        (("riscv64/looped.so",), "there is only one lifter for RISC-V 64-bit"),
    ],
)
def test_command_line(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file, *others = arguments
    assert run(("prove", "--both-lifters", str(BINARIES / file), *others)) == 2
    assert said in capsys.readouterr().err


def with_verdict(result: Result, name: str, verdict: Verdict) -> Result:
    return replace(
        result,
        properties=tuple(
            replace(one, verdict=verdict, reason="why") if one.property == name else one
            for one in result.properties
        ),
    )


@pytest.mark.parametrize("verdict", [Verdict.REFUTED, Verdict.UNKNOWN, Verdict.VACUOUS])
@pytest.mark.parametrize("second", [True, False])
def test_another_verdict_is_unknown(verdict: Verdict, second: bool) -> None:
    other = with_verdict(PCODE if second else VEX, "abi", verdict)
    result = agreed(VEX, other) if second else agreed(other, PCODE)
    found = {one.property: one for one in result.properties}
    assert found.pop("abi").verdict is Verdict.UNKNOWN
    assert all(one.verdict is Verdict.PROVED for one in found.values())
    assert result.verdict is Verdict.UNKNOWN


def test_what_is_disputed_has_no_counterexample() -> None:
    refuted = replace(REFUTED, lifters=("vex",))
    proof = replace(
        refuted,
        lifters=("pcode",),
        properties=tuple(
            replace(one, verdict=Verdict.PROVED, counterexample=None) for one in refuted.properties
        ),
    )
    assert any(one.counterexample for one in refuted.properties)
    assert not any(one.counterexample for one in agreed(refuted, proof).properties)
    same = agreed(refuted, replace(refuted, lifters=("pcode",)))
    assert [one.counterexample for one in same.properties] == [
        one.counterexample for one in refuted.properties
    ]


def test_what_is_disputed_has_no_calls() -> None:
    refuted = replace(GETRANDOM, lifters=("vex",))
    properties = (replace(one, verdict=Verdict.PROVED) for one in refuted.properties)
    proof = replace(refuted, lifters=("pcode",), properties=tuple(properties))
    assert any(one.history for one in refuted.properties)
    assert any(one.pair for one in refuted.properties)
    assert not any(one.history or one.pair for one in agreed(refuted, proof).properties)


def in_variants(result: Result, *verdicts: Verdict) -> Result:
    """A result with one property, which has these verdicts in the variants."""
    worst = Verdict.REFUTED if Verdict.REFUTED in verdicts else Verdict.PROVED
    return replace(
        result,
        properties=(PropertyResult("abi", "title", worst, 0.0),),
        variants=tuple(
            VariantSummary(f"variant {n}", "", (), (VariantVerdict("abi", verdict),))
            for n, verdict in enumerate(verdicts)
        ),
    )


def test_variants_are_compared_one_by_one() -> None:
    one = in_variants(VEX, Verdict.REFUTED, Verdict.PROVED)
    other = in_variants(PCODE, Verdict.PROVED, Verdict.REFUTED)
    result = agreed(one, other)
    assert result.verdict is Verdict.UNKNOWN
    assert [each.verdict for variant in result.variants for each in variant.verdicts] == [
        Verdict.UNKNOWN,
        Verdict.UNKNOWN,
    ]
    fewer = in_variants(PCODE, Verdict.REFUTED)
    assert agreed(one, fewer).verdict is Verdict.UNKNOWN
    assert agreed(one, in_variants(PCODE, Verdict.REFUTED, Verdict.PROVED)).verdict is (
        Verdict.REFUTED
    )
