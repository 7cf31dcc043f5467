"""What the prover claims is in the certificate, and nothing of it is forgotten."""

from __future__ import annotations

import re

import pytest

from tests.evidence.forge import certificate_of, index_of
from tests.proving import proved
from verify.evidence import check

# The prover's obligations by their id: those of the certificate that say the same of all of them,
# or what `trusted` says, or the word of the checker, which looks at these without a solver.
CHECKER = "checker"
SAME = {
    r"induction/bound/base": "induction/base/",
    r"induction/bound/step\d+": "induction/step/",
    r"induction/base\d+": "induction/base/",
    r"induction/step\d+": "induction/step/",
    r"output/word\d+": "output/word",
    r"output/all-blocks/.*": "output/all-blocks/",
    r"output/earlier-blocks/.*": "place/",
    r"output/in-place/.*": CHECKER,
    r"counter/(low|high)/exit\d+": r"counter/\1/",
    r"footprint/(read|write)/(dst|key|counter|stack|code)/[a-z]+-to-[a-z]+": r"footprint/\1/\2/",
    r"footprint/read/code/position-independent": "position-independent",
    r"stack/(place|public)/.*": "stack/",
    r"stack/no-writes": "stack/",
    r"abi/[^/]+/never-written": CHECKER,
    r"abi/([^/]+)/exit\d+": r"abi/\1/exit",
    r"secrecy/register/([^/]+)/exit\d+": r"secrecy/register/\1/exit",
    r"secrecy/stack/.*": "secrecy/stack/",
    r"secrecy/moment/.*": "secrecy/moment/",
    r"timing/0x[0-9a-f]+/branch-condition(#\d+)?": "timing/branch/",
    r"timing/0x[0-9a-f]+/address-of-the-(read|write)(#\d+)?": "timing/address/",
    r"timing/0x[0-9a-f]+/operand(#\d+)?": "timing/operand/",
    r"termination/rank\d+": "termination/rank/",
    r"termination/no-loop": "coverage/entry",
    r"termination/never\d+": "termination/",
}


@pytest.mark.parametrize("program", ["loongarch64/looped.so", "x86_64/unrolled.so"])
def test_every_claim_is_in_the_certificate(program: str) -> None:
    index = index_of(program)
    have = [one["id"] for one in index["obligations"]]
    claims = [claim for found in proved(program).properties for claim in found.checks]
    assert len(claims) > 100
    for claim in claims:
        (wanted,) = [
            match.expand(same)
            for pattern, same in SAME.items()
            if (match := re.fullmatch(pattern, claim.id))
        ]
        assert (
            wanted == CHECKER
            or wanted in index["trusted"]
            or any(name.startswith(wanted) for name in have)
        ), claim.id


def test_every_instruction_is_in_the_function_and_has_a_text() -> None:
    index = index_of("loongarch64/looped.so")
    named = {address for one in index["obligations"] for address in one["instructions"]}
    assert named <= set(index["disassembly"])
    first = int(index["target"]["address"], 16)
    assert all(0 <= int(a, 16) - first < index["target"]["size"] for a in index["disassembly"])


def test_it_is_small() -> None:
    files = certificate_of("loongarch64/looped.so")
    assert sum(map(len, files.values())) < 1_000_000
    assert b"ext_rotate" not in b"".join(files.values())


def test_each_obligation_is_a_script_by_itself() -> None:
    files = certificate_of("loongarch64/looped.so")
    names = [name for name in files if name.startswith("obligations/")]
    for name in names:
        lines = files[name].decode().splitlines()
        assert lines[0].startswith("; ") and lines[1].startswith("; ")
        assert lines[2] in ("(set-info :status unsat)", "(set-info :status sat)")
        assert lines[3] == "(set-logic QF_BV)" and lines[-1] == "(check-sat)"
    assert check.SUMS not in files
