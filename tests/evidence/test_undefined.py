"""A certificate may speak of what an instruction leaves undefined, and of no other new thing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.proving import BINARIES
from verify.evidence import check
from verify.evidence.check_model import RefusedError

PROGRAM = "loongarch64/lsx.so"
"""It restores the lower half of a vector register, whose other half is then undefined."""
UNDEFINED = b"undefined@0x480#1"


def test_a_certificate_with_an_undefined_half(tmp_path: Path) -> None:
    directory = tmp_path / "certificate"
    arguments = ("--property", "abi", "--property", "secrecy")
    command = ("prove", *arguments, "--certificate", str(directory), str(BINARIES / PROGRAM))
    run = (sys.executable, "-m", "verify", *command)
    subprocess.run(run, cwd=BINARIES.parent, check=True, capture_output=True)
    files = check.read(directory)
    assert any(UNDEFINED in content for content in files.values())
    index, _ = check.examine(files)
    assert index["verdicts"] == {"abi": "PROVED", "secrecy": "PROVED"}
    renamed = {name: data.replace(UNDEFINED, b"unknown@0x480#1") for name, data in files.items()}
    with pytest.raises(RefusedError, match="nothing is known of the variable unknown@0x480#1"):
        check.examine(renamed)
