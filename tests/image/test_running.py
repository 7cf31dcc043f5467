"""The vDSO of a process is read from its memory, and taken as the kernel has patched it.

`Running` reads a directory like /proc/self: here one of a process that has another image.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from typing import TYPE_CHECKING

import pytest

from tests.image import elves
from tests.image.processes import ADDRESS, PAGE, process
from tests.proving import BINARIES, target_of
from tests.tables import faulty
from verify.batch import targets_in
from verify.errors import InputError
from verify.image import GETRANDOM_NAMES, Running
from verify.image.running import AT_SYSINFO_EHDR, MAPPING_LIMIT
from verify.target import Target

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["x86_64/looped.so", "powerpc64le/unrolled.stripped.so"])
def test_the_function_is_found_in_memory(name: str, tmp_path: Path) -> None:
    (target,) = targets_in(process(tmp_path, (BINARIES / name).read_bytes()), None)
    assert isinstance(target, Target)
    assert target.function == target_of(name).function
    assert target.function_bytes == target_of(name).function_bytes
    assert target.running
    assert target.source == f"[vdso] of the running kernel {platform.release()}"
    assert target.patching_unknown == ""


def test_alternatives_are_not_applied_again(tmp_path: Path) -> None:
    patchable = faulty("x86_64").target(tmp_path)
    assert patchable.alternatives
    image = (tmp_path / "patchable.so").read_bytes()
    (target,) = targets_in(process(tmp_path, image), None)
    assert isinstance(target, Target)
    assert target.alternatives == ()
    assert target.function_bytes == patchable.function_bytes


def complaint(running: Running) -> str:
    (error,) = targets_in(running, None)
    assert isinstance(error, InputError)
    assert error.source == f"[vdso] of the running kernel {platform.release()}"
    return error.reason


def test_without_getrandom(tmp_path: Path) -> None:
    image = elves.shared_object(exports=("__vdso_gettimeofday",), local=False)
    assert complaint(process(tmp_path, image)) == (
        "the vDSO has no getrandom function; it exports __vdso_gettimeofday;"
        " Linux has getrandom in the vDSO from version 6.11 on"
    )


def test_unknown_architecture(tmp_path: Path) -> None:
    image = elves.shared_object(machine=elves.EM_386, layout=elves.Format(bits=32))
    assert "machine EM_386, 32-bit, little-endian is not supported" in complaint(
        process(tmp_path, image)
    )


IMAGE = (BINARIES / "x86_64/looped.so").read_bytes()
NO_VDSO = "the kernel gives processes no vDSO (it may be booted with vdso=0)"


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        (b"", NO_VDSO),
        (b"\1", NO_VDSO),
        (struct.pack("@4L", AT_SYSINFO_EHDR, 0, 0, 0), NO_VDSO),
        (struct.pack("@4L", 0, 0, AT_SYSINFO_EHDR, ADDRESS), NO_VDSO),
        (struct.pack("@2L", AT_SYSINFO_EHDR, PAGE), "no mapping begins at its address 0x1000"),
    ],
)
def test_no_vdso(vector: bytes, reason: str, tmp_path: Path) -> None:
    assert complaint(process(tmp_path, IMAGE, vector=vector)) == reason


@pytest.mark.parametrize(
    ("maps", "reason"),
    [
        ("", "no mapping begins at"),
        ("nonsense\n-\n12345000\n12345000-x r\n", "no mapping begins at"),
        (f"{ADDRESS:x}-{ADDRESS + MAPPING_LIMIT + 1:x} r", "4194305 bytes, more than any vDSO has"),
        (f"{ADDRESS:x}-{ADDRESS + 0x100000:x} r", "bytes at 0x12345000 are there"),
        (f"{ADDRESS:x}-{ADDRESS:x} r", "empty file"),
        (f"{ADDRESS:x}-{ADDRESS - 1:x} r", "no mapping begins at"),
    ],
)
def test_odd_mappings(maps: str, reason: str, tmp_path: Path) -> None:
    assert reason in complaint(process(tmp_path, IMAGE, maps=maps))


def test_no_proc(tmp_path: Path) -> None:
    reason = complaint(Running(tmp_path / "nothing"))
    assert "cannot be read (No such file or directory); Linux with /proc is needed" in reason


def test_this_process() -> None:
    """What is read is what lies in memory, and what the program can call."""
    running = Running()
    data = running.read()
    assert data.startswith(b"\x7fELF")
    assert ctypes.string_at(running._address(), len(data)) == data
    if any(name.encode() in data for name in GETRANDOM_NAMES):
        (target,) = targets_in(running, None)
        assert isinstance(target, Target), target
        assert target.function.size > 0
    else:
        assert "Linux has getrandom in the vDSO from version 6.11 on" in complaint(running)
