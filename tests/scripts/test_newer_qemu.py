"""The emulator is taken out of a package, and what remains too old is said."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.newer_qemu import NOT_RESOLVED, emulator_in, suites

ROOT = Path(__file__).resolve().parents[2]
DPKG = shutil.which("dpkg-deb")


@pytest.mark.skipif(DPKG is None, reason="only Debian and what comes from it has dpkg-deb")
def test_an_emulator_comes_out_of_a_package(tmp_path: Path) -> None:
    programs = tmp_path / "package" / "usr" / "bin"
    programs.mkdir(parents=True)
    (programs / "qemu-one").write_bytes(b"\x7fELF one" * 1000)
    (programs / "qemu-two").write_bytes(b"\x7fELF two")
    control = tmp_path / "package" / "DEBIAN"
    control.mkdir(mode=0o755)
    (control / "control").write_text(
        "Package: made\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: made\n"
    )
    package = tmp_path / "made.deb"
    build = ("dpkg-deb", "--build", str(tmp_path / "package"), str(package))
    subprocess.run(build, check=True, capture_output=True)
    content = package.read_bytes()
    assert emulator_in(content, "qemu-one") == b"\x7fELF one" * 1000
    assert emulator_in(content, "qemu-two") == b"\x7fELF two"
    assert emulator_in(content, "qemu-three") == b""
    assert emulator_in(content[:100], "qemu-one") == b""


def test_the_last_suite_is_stable() -> None:
    assert suites()[-1] == "stable"


@pytest.mark.parametrize(("version", "status"), [("7.2.22", NOT_RESOLVED), ("99.0.0", 0)])
def test_check_says_what_remains(tmp_path: Path, version: str, status: int) -> None:
    program = tmp_path / "qemu-loongarch64"
    program.write_text(f"#!/bin/sh\necho 'qemu-loongarch64 version {version}'\n")
    program.chmod(0o755)
    code = (
        "import sys; from verify.qemu import emulator; from scripts import newer_qemu;"
        "emulator.BESIDE_PYTHON = '/nowhere'; sys.exit(newer_qemu.main())"
    )
    done = subprocess.run(
        (sys.executable, "-c", code, "--check"),
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert done.stderr.count("LSX needs QEMU 8.2 or newer") == (1 if status else 0)
