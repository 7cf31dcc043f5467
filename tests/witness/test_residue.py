"""A register that depends on the key at return is seen to, and only such a one."""

from __future__ import annotations

import pytest

from tests.binaries.execution import random_calls, target
from verify.arch import by_name
from verify.witness import confirm_residue, other_key

FAULT = "binaries/faults/{}/scratch-register-not-wiped.so"
# Architecture, register that holds a word of the state, one that is cleared, one kept.
CASES = [("riscv64", "t5", "t0", "s5"), ("x86_64", "xmm8", "xmm0", "rbx")]


@pytest.mark.parametrize(("architecture", "dirty", "cleared", "kept"), CASES)
def test_only_what_depends_on_the_key(
    architecture: str, dirty: str, cleared: str, kept: str
) -> None:
    binary = target(FAULT.format(architecture))
    (call,) = random_calls("residue", 1)
    others = [other_key(call)]
    breach = confirm_residue(binary, call, others, dirty)
    assert breach is not None
    assert (breach.property, breach.what) == ("secrecy", f"at return {dirty} depends on the key")
    assert (breach.inputs, breach.other) == (call, others[0])
    assert confirm_residue(binary, call, others, cleared) is None
    assert confirm_residue(binary, call, others, kept) is None
    assert confirm_residue(binary, call, [call], dirty) is None


def test_nothing_is_said_of_a_register_that_is_not_shown() -> None:
    assert "zmm8.high" in {register.name for register in by_name("x86_64").registers}
    (call,) = random_calls("residue", 1)
    binary = target(FAULT.format("x86_64"))
    assert confirm_residue(binary, call, [other_key(call)], "zmm8.high") is None
