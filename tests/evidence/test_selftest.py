"""The C program of a counterexample shows the fault on the faulty bytes, and none on good ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.evidence.programs import counterexample_of, ran, target_of
from verify.arch import ARCHITECTURES
from verify.errors import InputError
from verify.evidence.contexts import CONTEXTS
from verify.evidence.selftest import selftest
from verify.qemu import machine_of

GOOD = "looped.so"
SHOWN = [
    ("powerpc64le/wrong-rotation", "output", "the output is ChaCha20's key stream"),
    ("powerpc64le/counter-not-written", "counter", "the counter goes up by the number of blocks"),
    ("powerpc64le/write-past-dst", "footprint", "nothing is written beside dst, counter and stack"),
    ("powerpc64le/register-not-restored", "abi", "callee-saved registers are restored"),
    ("powerpc64le/key-word-on-stack", "stack", "both calls leave the same on the stack"),
    ("powerpc64le/read-past-key", "footprint", "no access at key +35"),
    ("powerpc64le/stale-register-on-stack", "stack", "writes no more than it may"),
    ("powerpc64le/reserved-register-used", "abi", "r13 is as at entry around the instruction"),
    ("powerpc64le/carry-left", "secrecy", "at return xer.ca does not tell the calls apart"),
    ("powerpc64le/branch-on-key", "timing", "does the same in both calls"),
    ("powerpc64le/endless", "termination", "the function returns"),
    ("loongarch64/wrong-rotation", "output", "the output is ChaCha20's key stream"),
    ("loongarch64/register-not-wiped", "secrecy", "at return t2 does not tell the calls apart"),
    ("s390x/counter-words-exchanged", "counter", "the counter goes up by the number of blocks"),
    ("s390x/register-not-restored", "abi", "callee-saved registers are restored"),
    ("s390x/stale-register-on-stack", "stack", "writes no more than it may"),
    ("s390x/read-past-key", "footprint", "no access at key +35"),
]


def marks(fault: str) -> tuple[pytest.MarkDecorator, ...]:
    """The compiler takes long for the first program of one more architecture."""
    return (pytest.mark.every_fault,) if fault.startswith("s390x/") else ()


@pytest.mark.parametrize(
    ("fault", "property_id", "test"), [pytest.param(*one, marks=marks(one[0])) for one in SHOWN]
)
def test_fault_shows(fault: str, property_id: str, test: str, tmp_path: Path) -> None:
    found = counterexample_of(fault, property_id)
    shown = ran(target_of(f"faults/{fault}.so"), found, tmp_path / "shown")
    assert shown.code == 1, shown.output
    failing = [line for line in shown.output.splitlines() if line.startswith("not ok ")]
    assert any(test in line for line in failing), shown.output
    assert shown.output.startswith("TAP version 13\n1..")


@pytest.mark.parametrize(
    ("fault", "property_id"),
    [
        pytest.param(fault, property_id, marks=marks(fault))
        for fault, property_id, _ in SHOWN
        if property_id != "timing"
    ],
)
def test_good_bytes_pass(fault: str, property_id: str, tmp_path: Path) -> None:
    found = counterexample_of(fault, property_id)
    good = target_of(f"{Path(fault).parent}/{GOOD}")
    shown = ran(good, found, tmp_path / "good")
    assert shown.code == 0, shown.output
    assert "not ok" not in shown.output
    assert "SKIP" not in shown.output


def test_what_a_context_does_not_show_is_skipped(tmp_path: Path) -> None:
    found = counterexample_of("powerpc64le/register-not-wiped", "secrecy")
    observation = dataclasses.replace(found.observation, register="v3")
    hidden = dataclasses.replace(found, observation=observation)
    shown = ran(target_of(f"powerpc64le/{GOOD}"), hidden, tmp_path / "hidden")
    assert shown.code == 4
    assert "ok 7 at return v3 does not tell the calls apart # SKIP" in shown.output


def test_contexts_name_the_registers_that_qemu_shows() -> None:
    known = {architecture.name: architecture for architecture in ARCHITECTURES}
    assert set(CONTEXTS) <= set(known)
    for name, context in CONTEXTS.items():
        assert set(context.places) <= set(machine_of(name).places)
        architecture = known[name]
        needed = {architecture.stack_pointer, *architecture.arguments[:4]}
        assert needed <= set(context.places)


def test_architecture_without_a_program() -> None:
    target = target_of(f"powerpc64le/{GOOD}")
    unknown = dataclasses.replace(target.architecture, name="other", title="Other")
    found = counterexample_of("powerpc64le/wrong-rotation", "output")
    with pytest.raises(InputError, match="no C program can be written for Other"):
        selftest(dataclasses.replace(target, architecture=unknown), found)


def test_text_cannot_end_a_comment() -> None:
    found = counterexample_of("powerpc64le/wrong-rotation", "output")
    target = target_of(f"powerpc64le/{GOOD}")
    hostile = dataclasses.replace(found, what="*/ int x;", actual="*/ int y;")
    assert selftest(target, hostile).count("*/") == selftest(target, found).count("*/")
