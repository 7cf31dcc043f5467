"""Each fault of the complete getrandom shows in a short history under QEMU."""

from __future__ import annotations

import pytest

from binaries.patches import Fault
from tests.history.interrupting import SHOWN as INTERRUPTED
from tests.history.programs import BUILDS, FAULTS, elsewhere, faulty, program
from verify.history import Program, departure, execute, specified
from verify.history.catalogue import Histories
from verify.history.model import PERSISTENT, Harm

SHOWN = {
    "argument-left-unset": ("first call", "system call 0 is"),
    "batch-not-zeroed": ("from the batch", "the state differs afterwards at 40:"),
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
    "partial-key-accepted": ("half a key", "makes 1 system calls instead of 2"),
    "pos-not-reset": ("reseeded before", "the buffer differs at 0:"),
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
are interrupted."""


def shows(fault: Fault, binary: Program) -> bool:
    """Whether the history that is to show it does."""
    name, text = SHOWN[fault.name]
    history = Histories(binary).named()[name]
    (done,) = execute(binary, [history])
    return text in departure(list(specified(binary, history)), done)


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.name in SHOWN],
    ids=lambda fault: f"{fault.architecture}/{fault.name}",
)
def test_shows(fault: Fault) -> None:
    assert shows(fault, faulty(fault))


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.name == "endless-retry"],
    ids=lambda fault: f"{fault.architecture}/{fault.name}",
)
def test_attempts_without_end_show(fault: Fault) -> None:
    binary = faulty(fault)
    history = Histories(binary).named()["reseeded again and again"]
    ((done,),) = execute(binary, [history])
    assert len(done.made) == PERSISTENT + 1
    assert [breach.harm for breach in done.breaches] == [Harm.PERSISTENT]


SHARED = {
    fault.name: fault for fault in FAULTS if fault.file == "getrandom.c" and fault.name in SHOWN
}
MADE = {fault.architecture for fault in FAULTS}


@pytest.mark.every_fault
@pytest.mark.parametrize("fault", SHARED.values(), ids=SHARED)
@pytest.mark.parametrize("architecture", sorted(BUILDS.keys() - MADE))
def test_shows_on_other_architectures(fault: Fault, architecture: str) -> None:
    assert shows(fault, elsewhere(fault, architecture))


def test_every_fault_is_named_and_is_one_of_a_program() -> None:
    assert {fault.name for fault in FAULTS} == SHOWN.keys() | INTERRUPTED.keys()
    assert all(program(fault.program) for fault in FAULTS)
    assert len({(fault.architecture, fault.name) for fault in FAULTS}) == len(FAULTS)
