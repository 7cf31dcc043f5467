"""What `prove` says of a target as a whole: of what it cannot read, and of what it is asked for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from binaries.patches import Edit
from tests.prove.adversaries import Adversary
from tests.proving import target_of
from verify.lift.angr_import import import_angr
from verify.options import PROPERTIES, Options
from verify.verdict import Verdict

import_angr()

from verify.prove.setting import Variables  # noqa: E402
from verify.run import prove  # noqa: E402
from verify.terms import Term, const, equal  # noqa: E402

LABEL = "\n.Lkey_loaded:\n"
# Program, instruction, its text, its bytes, and why it is not supported.
UNSUPPORTED = [
    ("x86_64/looped", "rdtsc", "rdtsc", "0f31", "VEX statement without a meaning here"),
    ("x86_64/looped", "sqrtps %xmm0, %xmm0", "sqrtps xmm0, xmm0", "0f51c0", "floating-point"),
    ("x86_64/looped", ".byte 0x0f, 0xff", "ud0", "0fff", "VEX does not decode"),
    (
        "riscv64/looped",
        "fadd.d ft0, ft1, ft2",
        "fadd.d ft0, ft1, ft2",
        "53f02002",
        "has no register",
    ),
    ("riscv64/looped", "rdcycle t0", "rdcycle t0", "f32200c0", ""),
    ("riscv64/looped", ".word 0x0000007f", ".byte", "7f000000", "VEX does not decode"),
]


@pytest.mark.parametrize(("program", "instruction", "text", "code", "why"), UNSUPPORTED)
def test_an_unsupported_instruction_is_named(
    program: str, instruction: str, text: str, code: str, why: str, tmp_path: Path
) -> None:
    edit = Edit(LABEL, f"{LABEL}\t{instruction}\n")
    target = Adversary("unsupported", program, (), (edit,)).target(tmp_path)
    result = prove(target, Options(replay=False))
    assert {one.verdict for one in result.properties} == {Verdict.UNKNOWN}
    (reason,) = {one.reason for one in result.properties}
    found = re.fullmatch(r"0x([0-9a-f]+): (.*) \(([0-9a-f]+)\): (.*)", reason)
    assert found is not None, reason
    address = int(found[1], 16)
    assert target.code(address, len(code) // 2) == bytes.fromhex(code)
    assert found[3] == code
    assert text in found[2]
    assert why in found[4]


def test_only_what_is_asked_for_is_proved_in_the_usual_order() -> None:
    result = prove(target_of("x86_64/looped.so"), Options(properties=("abi", "counter")))
    assert [one.property for one in result.properties] == ["counter", "abi"]
    assert {one.verdict for one in result.properties} == {Verdict.PROVED}


def test_without_execution_nothing_is_refuted() -> None:
    result = prove(target_of("faults/x86_64/wrong-rotation.so"), Options(replay=False))
    found = {one.property: one for one in result.properties}
    output = found.pop("output")
    assert (output.verdict, output.counterexample) == (Verdict.UNKNOWN, None)
    assert output.reason.endswith("(not tried: counterexamples are not executed on request)")
    assert {one.verdict for one in found.values()} == {Verdict.PROVED}


def test_a_contract_that_nobody_can_keep_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Variables.contract

    def contradictory(names: Variables, alignment: int) -> tuple[Term, ...]:
        none = equal(names.nblocks, const(0, names.pointer_bits))
        return (*kept(names, alignment), none)

    monkeypatch.setattr(Variables, "contract", contradictory)
    result = prove(target_of("x86_64/looped.so"), Options(replay=False))
    verdicts = {one.verdict for one in result.properties}
    assert verdicts <= {Verdict.VACUOUS, Verdict.UNKNOWN}
    assert Verdict.VACUOUS in verdicts


def test_a_function_outside_of_the_image_is_unknown() -> None:
    target = target_of("x86_64/looped.so")
    elsewhere = replace(target, function=replace(target.function, address=0x7000_0000))
    result = prove(elsewhere, Options(replay=False))
    assert [one.property for one in result.properties] == list(PROPERTIES)
    assert {one.reason for one in result.properties} == {
        "0x70000000: execution leaves the code of the image"
    }
