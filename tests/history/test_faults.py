"""Each fault of the complete getrandom shows in a short history under QEMU."""

from __future__ import annotations

import pytest

from binaries.patches import Fault
from tests.history.interrupting import SHOWN as INTERRUPTED
from tests.history.programs import BUILDS, FAULTS, FAULTS_ELSEWHERE, faulty, named, program
from verify.history import departure, execute, specified
from verify.history.catalogue import Histories
from verify.history.model import PERSISTENT, Harm

SHOWN = {
    "argument-left-unset": ("first call", "system call 0 is"),
    "batch-not-zeroed": ("from the batch", "the state differs afterwards at 40:"),
    "byte-behind-the-buffer": ("from the batch", "nothing is its own, at +20 of the buffer"),
    "copy-checked-at-end": ("wiped meanwhile", "makes 1 system calls instead of 2"),
    "counter-restarted": ("nothing but blocks", "the state differs afterwards at 0:"),
    "endless-retry": ("reseeded twice meanwhile", "system call 2 is"),
    "error-not-told": ("across a page", "returns 14 instead of -14"),
    "fallback-with-advanced-buffer": ("reseeded twice meanwhile", "system call 2 is"),
    "fallback-with-capped-length": ("huge, not ready", "system call 0 is"),
    "generation-after-request": ("first call", "at system call 0 the state differs at"),
    "generation-kept-without-key": ("no key", "at system call 1 the state differs at"),
    "in-use-cleared-early": ("reseeded meanwhile", "at system call 1 the state differs at 137:"),
    "in-use-ignored": ("in use", "makes 0 system calls instead of 1"),
    "in-use-left-after-retry": (
        "reseeded twice meanwhile",
        "at system call 2 the state differs at 137:",
    ),
    "in-use-not-set": ("first call", "at system call 0 the state differs at 137:"),
    "key-not-replaced": ("first call", "the state differs afterwards at 64:"),
    "padding-cleared": ("from the batch", "the state differs afterwards at 143:"),
    "partial-key-accepted": ("half a key", "makes 1 system calls instead of 2"),
    "pos-not-reset": ("reseeded before", "the buffer differs at 0:"),
    "preserved-register-lost": ("first call", "it does not restore"),
    "reserved-register-borrowed": ("first call", "it has changed"),
    "reserved-parameter-left": ("query", "the state differs afterwards at 12:"),
    "straddling-state-accepted": ("across a page", "returns 20 instead of -14"),
    "unknown-flag-served": ("unknown flags", "makes 0 system calls instead of 1"),
    "wrong-data-page": ("from the batch", "makes 1 system calls instead of 0"),
    "wrong-state-size-accepted": (
        "other sizes of the state",
        "makes 0 system calls instead of 1",
    ),
    "zero-length-before-readiness": ("not ready, no length", "makes 0 system calls instead of 1"),
}
"""By the name of the fault: which history shows it, and as what. The others show only in calls that
are interrupted, or where two calls are compared."""
COMPARED = {"branch-on-a-byte", "byte-in-registers", "byte-in-the-frame", "looked-up-by-a-byte"}
"""Of these no call does otherwise than the specification; what is left, or steers, is a secret."""


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.name in SHOWN],
    ids=named,
)
def test_shows(fault: Fault) -> None:
    binary, (name, text) = faulty(fault), SHOWN[fault.name]
    history = Histories(binary).named()[name]
    (done,) = execute(binary, [history])
    assert text in departure(list(specified(binary, history)), done)


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.name == "endless-retry"],
    ids=named,
)
def test_attempts_without_end_show(fault: Fault) -> None:
    binary = faulty(fault)
    history = Histories(binary).named()["reseeded again and again"]
    ((done,),) = execute(binary, [history])
    assert len(done.made) == PERSISTENT + 1
    assert [breach.harm for breach in done.breaches] == [Harm.PERSISTENT]


def test_every_fault_is_named_and_is_one_of_a_program() -> None:
    assert {fault.name for fault in FAULTS} == SHOWN.keys() | INTERRUPTED.keys() | COMPARED
    assert all(program(fault.program) for fault in FAULTS)
    for faults in (FAULTS, FAULTS_ELSEWHERE):
        assert len({(fault.architecture, fault.name) for fault in faults}) == len(faults)


ONLY = {
    "error-not-told": {"powerpc", "powerpc64", "powerpc64elfv2", "powerpc64le"},
    "reserved-register-borrowed": BUILDS.keys() - {"x86_64"},
}
"""Faults that only these architectures can have: those that tell errors apart by a bit, and those
that have reserved registers."""


def test_every_architecture_has_every_fault_that_it_can_have() -> None:
    have: dict[str, set[str]] = {}
    for fault in (*FAULTS, *FAULTS_ELSEWHERE):
        have.setdefault(fault.name, set()).add(fault.architecture)
    assert have == {name: ONLY.get(name, BUILDS.keys()) for name in have}
