"""Faults of the complete getrandom are refuted by short histories, in the properties that they
break and in no others; good ones in none."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from binaries.patches import Fault
from tests.getrandom.adversaries import Adversary
from tests.history.programs import BINARIES, EACH_ONCE, FAULTS, LAYOUTS, named
from verify.getrandom.claims import Claim
from verify.getrandom.execution.account import account
from verify.getrandom.execution.blame import Blamed, blame
from verify.getrandom.execution.program import program_of
from verify.getrandom.execution.refute import Refutation, again, refutations
from verify.getrandom.execution.refuted import executed
from verify.getrandom.execution.stored import calls_of, history_of, stored
from verify.history import execute, specified
from verify.history.catalogue import Histories, at, is_granted
from verify.image import open_images
from verify.lift.angr_import import import_angr
from verify.locate import find_getrandom
from verify.qemu import QemuError
from verify.verdict import PropertyResult, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from verify.history import Program
    from verify.target import Target


def target_of(path: Path) -> Target:
    """The getrandom in a file."""
    import_angr()
    (image,) = open_images(path)
    return find_getrandom(image, str(path), "")


@cache
def program(name: str) -> Program:
    """The program of that name, or with that fault."""
    fault = next((fault for fault in FAULTS if fault.path == name), None)
    path = BINARIES / f"{name}.so" if fault is None else BINARIES.parent / name
    layout = LAYOUTS[name if fault is None else fault.program]
    return program_of(target_of(path), layout)


SOME = {
    "loongarch64/in-use-not-set",
    "loongarch64/pos-not-reset",
    "powerpc64le/error-not-told",
    "powerpc64le/partial-key-accepted",
}


@pytest.mark.parametrize("fault", [one for one in FAULTS if named(one) in SOME], ids=named)
def test_some_faults(fault: Fault) -> None:
    found = refutations(program(fault.path), ())
    assert found.keys() == set(fault.refuted_by)
    for one in found.values():
        assert_short(program(fault.path), one)


@pytest.mark.every_fault
@pytest.mark.parametrize("fault", [one for one in FAULTS if one.name == "endless-retry"], ids=named)
def test_attempts_without_end(fault: Fault) -> None:
    one = program(fault.path)
    found = refutations(one, ())
    assert found.keys() == set(fault.refuted_by)
    termination = found[Claim.TERMINATION.value]
    assert termination.text == "it still asks for a key after 100 reseeds in a row"
    assert all(len(line) < 1000 for line in account(one, termination))


THREE_ATTEMPTS = Adversary(
    "three-attempts", Claim.GENERATION, "#define ATTEMPTS 2", "#define ATTEMPTS 3"
)
ASKING_UNTIL_ANSWERED = Adversary(
    "asking-until-answered",
    Claim.TERMINATION,
    "\treturn system_call(buffer, len, flags);\n",
    "\tlong result;\n\n\tdo\n\t\tresult = system_call(buffer, len, flags);\n"
    "\twhile (result == -11);\n\treturn result;\n",
)
"""While the kernel says EAGAIN."""


def blamed(one: Program, name: str) -> Blamed:
    """What the one call of the history of that name is blamed for."""
    history = Histories(one).named()[name]
    ((step,), (right,)) = history, specified(one, history)
    ((done,),) = execute(one, [history])
    return blame(one, step, right, done)


def adverse(adversary: Adversary, directory: Path) -> Program:
    """An adversary on LoongArch."""
    layout = LAYOUTS["loongarch64/getrandom"]
    target = target_of(adversary.path(directory, "loongarch64"))
    return program_of(target, layout)


def test_attempts_that_are_too_many_have_an_end(tmp_path: Path) -> None:
    found = blamed(adverse(THREE_ATTEMPTS, tmp_path), "reseeded again and again")
    assert found.keys() == {Claim.FALLBACK, Claim.GENERATION}


def test_system_calls_without_end(tmp_path: Path) -> None:
    found = blamed(adverse(ASKING_UNTIL_ANSWERED, tmp_path), "refused again and again")
    assert found.keys() == {Claim.FALLBACK, Claim.TERMINATION}
    assert found[Claim.TERMINATION] == "it still makes a system call after 100 answers in a row"


def assert_short(one: Program, refutation: Refutation) -> None:
    """Its history is granted, and as short as those in which the faults show."""
    assert is_granted(refutation.history)
    assert len(refutation.history) == 1
    ((step,), (expected,)) = refutation.history, refutation.expected
    assert step.call.len < 64
    assert len(step.answers) == len(expected.made)
    call, *told, seen = account(one, refutation)
    assert call.startswith(f"call 0: getrandom({step.call.buffer:#x}, {step.call.len}, ")
    assert [line.split()[0] for line in told] == ["meets", "does", "specified"]
    assert seen == f"call 0: {refutation.text}"


@pytest.mark.parametrize("name", ["loongarch64/getrandom", "powerpc64le/getrandom"])
def test_a_good_one(name: str) -> None:
    assert refutations(program(name), program(name).instructions[::40]) == {}


@pytest.mark.every_fault
@pytest.mark.parametrize("name", EACH_ONCE)
def test_every_good_one(name: str) -> None:
    one = program(name)
    assert refutations(one, one.instructions) == {}


NOP, BRANCH_TO_ITSELF, STORE_TO_ZERO = 0x0340_0000, 0x5000_0000, 0x29C0_0000


def patched(one: Program, address: int, word: int) -> Program:
    """A LoongArch program with another instruction at an address."""
    segments = tuple(
        (
            start,
            data[: address - start] + word.to_bytes(4, "little") + data[address - start + 4 :],
        )
        if start <= address < start + len(data)
        else (start, data)
        for start, data in one.segments
    )
    return replace(one, segments=segments)


def word_at(one: Program, address: int) -> int:
    (data,) = (d[address - a :][:4] for a, d in one.segments if a <= address < a + len(d))
    return int.from_bytes(data, "little")


def restoring(one: Program) -> int:
    """The last instruction that loads a preserved register, s0 to s8, from the stack: ld.d."""
    return max(
        at
        for at in one.instructions
        if word_at(one, at) & 0xFFC0_03E0 == 0x28C0_0060 and word_at(one, at) & 31 >= 23
    )


def test_a_register_that_is_not_restored() -> None:
    one = program("loongarch64/getrandom")
    found = refutations(patched(one, restoring(one), NOP), ())
    assert found.keys() == {Claim.ABI.value}


def test_a_call_that_does_not_end() -> None:
    one = program("loongarch64/getrandom")
    found = refutations(patched(one, one.entry, BRANCH_TO_ITSELF), (), every=False)
    assert found.keys() == {Claim.TERMINATION.value}


def test_a_call_that_is_stopped() -> None:
    one = program("loongarch64/getrandom")
    found = refutations(patched(one, one.entry, STORE_TO_ZERO), (), every=False)
    assert found
    assert found.keys() <= {Claim.FALLBACK.value, Claim.STREAM.value}
    assert all("signal 11" in one.text for one in found.values())


def test_a_register_that_is_saved_below_the_stack_pointer() -> None:
    """std r29, -0x7f78(r1) instead of 0x88(r1)"""
    one = program("powerpc64le/getrandom")
    save = next(at for at in one.instructions if word_at(one, at) == 0xFBA1_0088)
    found = refutations(patched(one, save, 0xFBA1_8088), (), every=False)
    assert found.keys() == {Claim.ABI.value}
    assert "below the stack pointer" in found[Claim.ABI.value].text


BORROWING = Adversary(
    "reserved-register-borrowed-at-the-check",
    Claim.ABI,
    "\t\tBARRIER();\n",
    '\t\t__asm__ volatile("move $t5, $r21; move $r21, $zero; move $r21, $t5" : : :'
    ' "$t5", "memory");\n',
)


def test_a_reserved_register_that_a_handler_sees_changed(tmp_path: Path) -> None:
    """move r21, zero, and back"""
    one = adverse(BORROWING, tmp_path)
    changed = next(at for at in one.instructions if word_at(one, at) == 0x0015_0015)
    assert refutations(one, (changed, changed + 8)) == {}
    found = refutations(one, (changed + 4,))
    assert found.keys() == {Claim.ABI.value}
    assert found[Claim.ABI.value].text == f"it has changed r21 where it comes to {changed + 4:#x}"


def test_an_error_of_zero() -> None:
    """cmpdi r3, 1 instead of cmpdi r3, 0 in front of the branch that tells errors apart"""
    one = program("powerpc64le/getrandom")
    test = next(at for at in one.instructions if word_at(one, at) == 0x2C23_0000)
    found = refutations(patched(one, test, 0x2C23_0001), (), every=False)
    assert found.keys() == {Claim.FALLBACK.value}


def test_what_is_not_granted() -> None:
    histories = Histories(program("loongarch64/getrandom")).named()
    refused = {name for name, history in histories.items() if not is_granted(history)}
    assert refused == {"interrupted meanwhile"}


OPEN = PropertyResult(Claim.FALLBACK.value, "", Verdict.UNKNOWN, 0.0, reason="not shown")
PROVED = replace(OPEN, verdict=Verdict.PROVED, reason="")
LAYOUT = LAYOUTS["loongarch64/getrandom"]
WRONG = BINARIES / "faults/loongarch64/getrandom/unknown-flag-served.so"


def test_verdicts() -> None:
    found = executed(target_of(WRONG), LAYOUT, [OPEN])
    (one,) = found.properties
    assert (found.executed, one.verdict) == (True, Verdict.REFUTED)
    assert one.reason == "call 0: it makes 0 system calls instead of 1"
    assert one.history is not None
    assert one.history.what == one.reason
    assert len(one.history.calls) == len(one.history.outcomes) == 1
    wrong = program_of(target_of(WRONG), LAYOUT)
    seen = again(wrong, history_of(one.history.calls), one.property)
    assert seen is not None
    assert stored(wrong, seen) == one.history
    right = program("loongarch64/getrandom")
    assert again(right, history_of(one.history.calls), one.property) is None


def test_histories_are_stored_and_read_back() -> None:
    one = program("powerpc64le/getrandom")
    histories = Histories(one)
    interrupted = (at(step, one.entry) for step in histories.interrupted().values())
    for history in (*histories.named().values(), *interrupted):
        assert history_of(calls_of(history)) == history


def test_what_is_proved_is_not_refuted() -> None:
    (one,) = executed(target_of(WRONG), LAYOUT, [PROVED]).properties
    assert one.verdict is Verdict.UNKNOWN
    assert one.reason.startswith("fault of the harness")


@pytest.mark.usefixtures("without_qemu")
def test_without_qemu_nothing_is_refuted() -> None:
    found = executed(target_of(WRONG), LAYOUT, [OPEN])
    (one,) = found.properties
    assert (found.executed, one.verdict, one.reason) == (False, Verdict.UNKNOWN, "not shown")
    assert "sudo apt-get install qemu-user" in one.findings[0]


def test_what_was_found_stands_where_no_pair_can_be_executed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise QemuError("it was killed")

    monkeypatch.setattr("verify.getrandom.execution.refuted.interferences", fail)
    secrecy = replace(OPEN, property=Claim.SECRECY.value)
    found = executed(target_of(WRONG), LAYOUT, [OPEN, secrecy])
    refuted, unknown = found.properties
    assert (found.executed, refuted.verdict, refuted.findings) == (True, Verdict.REFUTED, ())
    assert (unknown.verdict, unknown.findings) == (
        Verdict.UNKNOWN,
        ("no pair of calls was executed: it was killed",),
    )
