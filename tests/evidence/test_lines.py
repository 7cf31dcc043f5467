"""The line of the source of an instruction, from the file's own debug information."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proving import BINARIES, target_of
from verify.batch import targets_in
from verify.evidence.lines import line_in, source_line
from verify.target import Target

SOURCE = """\
	.globl	__arch_chacha20_blocks_nostack
	.type	__arch_chacha20_blocks_nostack, @function
__arch_chacha20_blocks_nostack:
	addi	3, 3, 1

	addi	4, 4, 1
	blr
	.size	__arch_chacha20_blocks_nostack, . - __arch_chacha20_blocks_nostack
	.globl	__kernel_getrandom
	.type	__kernel_getrandom, @function
__kernel_getrandom:
	blr
	.size	__kernel_getrandom, . - __kernel_getrandom
"""


@pytest.fixture(scope="module", params=["-gdwarf-4", "-gdwarf-5"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared object with debug information."""
    tree = tmp_path_factory.mktemp("lines")
    (tree / "small.S").write_text(SOURCE)
    command = ("-m", "ziglang", "cc", "-target", "powerpc64le-linux-gnu", request.param)
    flags = ("-shared", "-nostdlib", "-o", "small.so", "small.S")
    subprocess.run((sys.executable, *command, *flags), cwd=tree, check=True, capture_output=True)
    return tree / "small.so"


def target(file: Path) -> Target:
    (found,) = targets_in(str(file), None)
    assert isinstance(found, Target), found
    return found


def test_lines(built: Path) -> None:
    found = target(built)
    first = found.function.address
    lines = [source_line(found, first + 4 * n) for n in range(3)]
    assert [re.fullmatch(r"small\.S:(\d+)", line) is not None for line in lines] == [True] * 3
    assert [int(line.split(":")[1]) for line in lines] == [4, 6, 7]
    assert source_line(found, first + 12) == "small.S:12"
    assert source_line(found, first + 16) == ""
    assert source_line(found, 0) == ""


def test_no_lines_where_there_is_no_such_information() -> None:
    found = target_of("powerpc64le/looped.so")
    assert source_line(found, found.function.address) == ""


def test_no_lines_from_a_file_that_has_changed(built: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copyfile(built, copy)
    found = target(copy)
    assert source_line(found, found.function.address)
    copy.write_bytes((BINARIES / "powerpc64le" / "looped.so").read_bytes())
    assert source_line(found, found.function.address) == ""
    copy.unlink()
    assert source_line(found, found.function.address) == ""


def test_damaged_information_tells_nothing(built: Path) -> None:
    data = built.read_bytes()
    address = target(built).function.address
    for size in range(0, len(data), 37):
        assert line_in(data[:size], address) in ("", "small.S:4")
    for at in range(0, len(data), 11):
        damaged = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        assert isinstance(line_in(damaged, address), str)
