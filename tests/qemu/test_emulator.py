"""The newest emulator that is found is used, and what it is too old for is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from verify import qemu
from verify.qemu import emulator
from verify.qemu.protocol import QemuError

ARCH = "loongarch64"
NAME = "qemu-loongarch64"


def put(directory: Path, name: str, version: str) -> None:
    """A program that says that it is an emulator of that version, and does nothing else."""
    directory.mkdir(exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\necho '{NAME} version {version} (made for a test)'\n")
    program.chmod(0o755)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """Two directories on PATH, and the one beside Python."""
    first, second, beside = (tmp_path / name for name in ("first", "second", "beside"))
    monkeypatch.setenv("PATH", os.pathsep.join((str(first), str(second))))
    monkeypatch.setattr(emulator, "BESIDE_PYTHON", str(beside))
    return first, second, beside


def shown(version: str) -> str:
    return f"{NAME} version {version} (made for a test)"


def test_the_newest_on_path_is_taken(places: tuple[Path, Path, Path]) -> None:
    put(places[0], NAME, "7.2.22")
    put(places[1], f"{NAME}-static", "10.0.2")
    assert qemu.available(ARCH) == shown("10.0.2")


def test_versions_are_numbers(places: tuple[Path, Path, Path]) -> None:
    put(places[0], NAME, "9.2.1")
    put(places[1], NAME, "10.0.0")
    assert qemu.available(ARCH) == shown("10.0.0")


def test_the_first_of_equals_is_taken(places: tuple[Path, Path, Path]) -> None:
    for place in places:
        put(place, NAME, "8.2.0")
    found = emulator.newest(NAME, os.pathsep.join(map(str, places)))
    assert found is not None
    assert found.path == str(places[0] / NAME)


def test_one_beside_python_is_found(places: tuple[Path, Path, Path]) -> None:
    put(places[2], NAME, "8.2.0")
    assert qemu.available(ARCH) == shown("8.2.0")


def test_a_program_that_fails_is_none(places: tuple[Path, Path, Path]) -> None:
    put(places[0], NAME, "8.2.0")
    (places[0] / NAME).write_text("#!/bin/sh\nexit 1\n")
    assert qemu.available(ARCH) is None
    with pytest.raises(QemuError, match="sudo apt-get install qemu-user"):
        qemu.run(ARCH, [], 0, [], timeout=1)


@pytest.mark.parametrize("version", ["7.2.22", "8.1.5", "unknown"])
def test_an_old_one_lacks_vectors(places: tuple[Path, Path, Path], version: str) -> None:
    put(places[0], NAME, version)
    said = qemu.lacking(ARCH)
    assert said.startswith(f"LSX needs QEMU 8.2 or newer, and this is {shown(version)}; get it")
    assert "`make setup-qemu`" in said
    assert "\n" not in said


@pytest.mark.parametrize("version", ["8.2.0", "9.0.0", "10.0.2"])
def test_a_new_one_lacks_nothing(places: tuple[Path, Path, Path], version: str) -> None:
    put(places[0], NAME, version)
    assert qemu.lacking(ARCH) == ""


@pytest.mark.usefixtures("without_qemu")
def test_where_there_is_none_nothing_is_said_of_its_age() -> None:
    assert qemu.lacking(ARCH) == ""
