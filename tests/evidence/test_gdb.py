"""GDB stops where the script says, and finds the state there."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.evidence.programs import compiled, counterexample_of, target_of
from verify.evidence.gdb import gdb_script
from verify.evidence.selftest import selftest
from verify.qemu import machine_of

GDB = shutil.which("gdb-multiarch")
FAULT = "powerpc64le/swapped-operands"


def script(fault: str = FAULT, property_id: str = "output") -> str:
    return gdb_script(
        target_of(f"faults/{fault}.so"), counterexample_of(fault, property_id), "shown"
    )


def test_script() -> None:
    lines = script().splitlines()
    found = counterexample_of(FAULT, "output")
    assert found.deviation is not None and found.departure is not None
    assert f"break *($copy + {found.deviation:#x})" in lines
    assert lines.count("continue") == 3
    words = [line for line in lines if line.startswith('printf "x')]
    assert len(words) >= 13
    for word in found.departure.state:
        if word.held_in:
            assert any(f"x{word.word} in {word.held_in[0]}: " in line for line in words)
    blocks = [line for line in lines if line in ("if $_thread == 0", "else", "end")]
    assert blocks == ["if $_thread == 0", "else", "end"]


def test_later_visits_are_waited_for() -> None:
    found = counterexample_of("loongarch64/carry-lost", "output")
    assert found.departure is not None
    assert found.departure.visit == 2
    assert "ignore 2 1" in script("loongarch64/carry-lost").splitlines()


def test_text_stays_text() -> None:
    assert not re.search(r'printf "[^"]*%[^0d%]', script("loongarch64/wrong-rotation"))


@pytest.mark.skipif(GDB is None, reason="gdb-multiarch is not installed")
def test_debugger_finds_the_state(tmp_path: Path) -> None:
    target, found = target_of(f"faults/{FAULT}.so"), counterexample_of(FAULT, "output")
    compiled(target, selftest(target, found), tmp_path / "shown")
    (tmp_path / "shown.gdb").write_text(script())
    assert GDB is not None
    stub = tmp_path / "stub"
    emulator = machine_of("powerpc64le").emulator
    with subprocess.Popen(
        (emulator, "-g", str(stub), str(tmp_path / "shown")), stdout=subprocess.PIPE, text=True
    ) as running:
        for _ in range(100):
            if stub.exists():
                break
            time.sleep(0.1)
        try:
            shown = subprocess.run(
                (GDB, "-nx", "-batch", "-ex", f"target remote {stub}", "-x", "shown.gdb", "shown"),
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
        finally:
            running.kill()
    said = shown.stdout
    assert f"stopped before {found.deviation:#x}: {found.deviation_text}" in said, shown
    words = re.findall(r"x(\d+) in (\S+): ([0-9a-f]{8}), in the specification ([0-9a-f]{8})", said)
    assert len(words) >= 13
    assert all(actual == specified for _, _, actual, specified in words)
