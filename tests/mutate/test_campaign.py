"""Campaigns on real worker processes: killed, resumed, and refuted by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.mutate.test_operators import made
from tests.proving import BINARIES, target_of
from verify.mutate.campaign import Resources, run
from verify.mutate.journal import read
from verify.mutate.judge import judge, judge_with_equivalence
from verify.mutate.model import Judgement, Mutant, Operator
from verify.options import Options
from verify.verdict import Verdict

PROGRAM = "loongarch64/looped.so"


def chosen(operator: Operator, count: int) -> list[Mutant]:
    return [mutant for mutant in made(PROGRAM) if mutant.operator is operator][:count]


def is_rotation(mutant: Mutant) -> bool:
    """rotri.w"""
    return int.from_bytes(mutant.before, "little") & 0xFFFF8000 == 0x004C8000


@pytest.mark.parametrize("every", [False, True])
def test_a_wrong_rotation_is_refuted_by_the_output(every: bool) -> None:
    target = target_of(PROGRAM)
    rotations = (m for m in made(PROGRAM) if m.operator is Operator.IMMEDIATE and is_rotation(m))
    rotate = next(rotations)
    judgement = judge(target, rotate, Options(), every=every)
    assert (judgement.verdict, judgement.refuted_by) == (Verdict.REFUTED, "output")
    assert "rotri.w" in judgement.before and judgement.before != judgement.after


def test_what_is_no_instruction_is_not_called_refuted() -> None:
    target = target_of(PROGRAM)
    entry = target.function.address
    code = target.code(entry, 4)
    assert code is not None
    judgement = judge(target, Mutant(Operator.SIBLING, entry, code, b"\xff" * 4), Options())
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.after == "not an instruction"
    assert f"{entry:#x}" in judgement.reason


def test_a_proved_mutant_has_an_argument() -> None:
    target = target_of(PROGRAM)
    swaps = [m for m in made(PROGRAM) if m.operator is Operator.SWAP]
    judgements = (judge_with_equivalence(target, mutant, Options()) for mutant in swaps[-20:])
    proved = next(one for one in judgements if one.verdict is Verdict.PROVED)
    assert proved.equivalent and not proved.hole


@pytest.mark.parametrize(
    ("word", "verdict", "refuted_by", "reason"),
    [
        # mulli r12, r0, 0 and mulli r12, r6, 0: a word of the state, and the blocks that are left
        (0x1D800000, Verdict.REFUTED, "timing", "the operand at 0x65c depends on the key"),
        (0x1D860000, Verdict.PROVED, "", ""),
    ],
)
def test_a_product_with_a_secret_takes_another_time(
    word: int, verdict: Verdict, refuted_by: str, reason: str
) -> None:
    """In both the result is zero, as that of the instruction that is replaced."""
    target = target_of("powerpc64le/looped.so")
    address, clear = 0x65C, (0x39800000).to_bytes(4, "little")
    mutant = Mutant(Operator.SIBLING, address, clear, word.to_bytes(4, "little"))
    judgement = judge(target, mutant, Options())
    found = (judgement.verdict, judgement.refuted_by, judgement.reason)
    assert found == (verdict, refuted_by, reason)


def test_a_worker_that_dies_costs_one_mutant() -> None:
    mutants = chosen(Operator.DELETE, 12)
    judged: list[Judgement] = []
    killed: list[int] = []

    def done(judgement: Judgement) -> None:
        judged.append(judgement)
        if len(judged) == 3:
            workers = [p for p in psutil.Process().children(recursive=True) if _is_worker(p)]
            killed.append(workers[0].pid)
            os.kill(workers[0].pid, signal.SIGKILL)

    run(target_of(PROGRAM), mutants, Options(), Resources(workers=2), done)
    assert killed
    assert sorted(one.mutant.id for one in judged) == sorted(m.id for m in mutants)
    dead = [one for one in judged if "its worker died" in one.reason]
    assert len(dead) == 1 and dead[0].verdict is Verdict.UNKNOWN
    assert all(one.verdict is not Verdict.UNKNOWN for one in judged if one not in dead)


def _is_worker(process: psutil.Process) -> bool:
    return "spawn_main" in " ".join(process.cmdline())


def command(journal: Path, *more: str) -> list[str]:
    file = str(BINARIES / PROGRAM)
    campaign = ("mutate", file, "-o", str(journal), "--sample", "8", "--seed", "5")
    return [sys.executable, "-m", "verify", *campaign, "--workers", "2", *more]


def ended(line: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(line, check=False, capture_output=True, text=True)


def test_a_killed_campaign_is_resumed_and_gives_the_same(tmp_path: Path) -> None:
    journal, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(command(journal), stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    for one in (psutil.Process(process.pid), *children):
        one.kill()
    process.wait()
    kept = journal.read_bytes()
    resumed = subprocess.run(
        command(journal, "--resume"), check=False, capture_output=True, text=True
    )
    assert journal.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    done = ended(command(whole))
    assert done.returncode == resumed.returncode == 0, resumed.stderr + done.stderr
    assert done.stdout == resumed.stdout
    one, two = read(journal), read(whole)
    assert one[0] == two[0]

    def outcome(judgement: Judgement) -> tuple[str, Verdict, str]:
        return judgement.mutant.id, judgement.verdict, judgement.refuted_by

    assert sorted(map(outcome, one[1]), key=repr) == sorted(map(outcome, two[1]), key=repr)
    again = ended(command(whole, "--resume"))
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_a_function_that_is_not_proved_is_not_mutated(tmp_path: Path) -> None:
    file = str(BINARIES / "faults/loongarch64/wrong-rotation.so")
    arguments = ("mutate", file, "-o", str(tmp_path / "journal"), "--sample", "1")
    line = [sys.executable, "-m", "verify", *arguments]
    done = ended(line)
    assert done.returncode == 2
    assert "the function itself is REFUTED" in done.stderr
