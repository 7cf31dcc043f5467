"""Where the emulator tells only the page of a fault, as on s390x, no more than that is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.witness.programs import ENTRY, MACHINES
from verify.arch import by_name
from verify.target import CodeSegment, Function, Target
from verify.witness import Inputs, confirm_access

INPUTS = Inputs(key=tuple(range(8)), counter=1, nblocks=2)


def program(*instructions: str) -> Target:
    """A function of s390x, given in hexadecimal."""
    code = bytes.fromhex("".join(instructions))
    return replace(
        MACHINES["loongarch64"].program(MACHINES["loongarch64"].back),
        architecture=by_name("s390x"),
        segments=(CodeSegment(ENTRY, code, True),),
        function=Function("program", ENTRY, len(code), "written here"),
    )


RETURN = "07fe"
SAVE = "e360f0300024"  # stg %r6, 48(%r15)


@pytest.mark.parametrize(
    ("access", "region", "offset", "said"),
    [
        ("58103020", "key", 32, "accesses the page of key + 32"),  # l %r1, 32(%r3)
        ("e3103ffcff58", "key", -4, "accesses the page of key - 4"),  # ly %r1, -4(%r3)
        ("e310f0a00004", "stack", 160, "accesses the page of sp + 160"),  # lg %r1, 160(%r15)
    ],
)
def test_an_access_at_the_edge(access: str, region: str, offset: int, said: str) -> None:
    breach = confirm_access(program(SAVE, access, RETURN), INPUTS, region, offset)
    assert breach is not None
    assert (breach.property, breach.what) == ("footprint", said)
    assert breach.instruction == ENTRY + len(SAVE) // 2


def test_a_slot_of_the_callee_on_the_same_page_may_be_what_is_accessed() -> None:
    assert confirm_access(program(SAVE, RETURN), INPUTS, "stack", 8) is None


def test_no_access() -> None:
    assert confirm_access(program(RETURN), INPUTS, "key", 32) is None
