"""Instructions that lifters take for nops, though they do something, are refused."""

from __future__ import annotations

import pytest

from tests.proving import BINARIES
from verify.batch import targets_in
from verify.lift.machine import Unsupported
from verify.lift.select import engine_for
from verify.mutate.model import patched
from verify.prove.cfg import control_flow
from verify.prove.hints import refuse_hints
from verify.target import Target

HINTS = (
    ("x86_64/looped", "0f1808"),  # prefetcht0 (%rax)
    ("x86_64/looped", "0f0d08"),  # prefetchw (%rax)
    ("x86_64/looped", "0f1c00"),  # cldemote (%rax)
    ("arm64/looped", "000080f9"),  # prfm pldl1keep, [x0]
    ("arm64/looped", "207b0bd5"),  # dc cvau, x0
    ("arm64/looped", "20750bd5"),  # ic ivau, x0
    ("arm64/looped", "000080f8"),  # prfum pldl1keep, [x0]
    ("loongarch64/looped", "8000c02a"),  # preld 0, $a0, 0
    ("loongarch64/looped", "80042c38"),  # preldx 0, $a0, $ra
    ("powerpc64le/looped", "2c22037c"),  # dcbt r3, r4
    ("powerpc64le/looped", "ec21037c"),  # dcbtst r3, r4
    ("powerpc64le/looped", "6c20037c"),  # dcbst r3, r4
    ("riscv64/looped", "13601500"),  # prefetch.r 0(a0)
    ("s390x/looped", "e31000000036"),  # pfd 1, 0
)
LEFT_OUT = (
    ("arm64/looped", "1f2303d5"),  # paciaz
    ("arm64/looped", "3f2303d5"),  # paciasp
    ("arm64/looped", "7f2303d5"),  # pacibsp
    ("arm64/looped", "9f2103d5"),  # autia1716
    ("arm64/looped", "ff2303d5"),  # autibsp
    ("arm64/looped", "ff2003d5"),  # xpaclri
    ("arm64/looped", "1f2503d5"),  # chkfeat x16
    ("arm64/looped", "9f000058"),  # ldr xzr, 16 bytes behind
    ("powerpc64le/looped", "3c00007c"),  # wait
    ("x86_64/looped", "f3480f1ec8909090"),  # rdsspq %rax
)
NOT_DECODED = (
    ("arm64/looped", "00243bd5"),  # mrs x0, rndr
    ("arm64/looped", "009d3bd5"),  # mrs x0, pmccntr_el0
    ("arm64/looped", "00101bd5"),  # msr to a register of the system
    ("arm64/looped", "60740bd5"),  # dc gva, x0
    ("arm64/looped", "80740bd5"),  # dc gzva, x0
    ("arm64/looped", "24860ed5"),  # tlbi
)
NOPS = (
    ("x86_64/looped", "0f1f00"),
    ("x86_64/looped", "f30f1efa90909090"),  # endbr64
    ("riscv64/looped", "13000000"),
    ("arm64/looped", "1f2003d5"),
    ("arm64/looped", "5f2403d5"),  # bti c
    ("arm64/looped", "00423bd5"),  # mrs x0, nzcv
    ("arm64/looped", "bf3b03d5"),  # dmb ish
    ("arm64/looped", "3f0040f9"),  # ldr xzr, [x1]
)


def checked(name: str, code: str) -> None:
    """Look for hints in a function that begins with other code."""
    (target,) = targets_in(str(BINARIES / f"{name}.so"), None)
    assert isinstance(target, Target)
    target = patched(target, target.function.address, bytes.fromhex(code))
    engine = engine_for(target.architecture, target.code)
    flow = control_flow(engine, target.function.address)
    refuse_hints(target.architecture.instruction_set, engine, flow)


@pytest.mark.parametrize(("name", "code"), HINTS)
def test_one_that_tells_of_an_address(name: str, code: str) -> None:
    with pytest.raises(Unsupported, match="only tells of an address"):
        checked(name, code)


@pytest.mark.parametrize(("name", "code"), LEFT_OUT)
def test_one_that_is_left_out(name: str, code: str) -> None:
    with pytest.raises(Unsupported, match="the lifter leaves out"):
        checked(name, code)


@pytest.mark.parametrize(("name", "code"), NOT_DECODED)
def test_one_that_is_not_decoded(name: str, code: str) -> None:
    with pytest.raises(Unsupported, match="does not decode"):
        checked(name, code)


@pytest.mark.parametrize(("name", "code"), NOPS)
def test_one_that_does_nothing_is_not(name: str, code: str) -> None:
    checked(name, code)
