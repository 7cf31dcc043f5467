"""Get an emulator that is new enough for every instruction that the tests run.

Where an emulator on PATH is too old, that of Debian's package qemu-user, whose programs are linked
statically, is put beside the Python that runs this, where `verify.qemu` looks for it, too; the
system stays as it is. With `--check` nothing is got. What remains too old is said in one line for
each architecture, and the exit status is then 3.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from verify import qemu
from verify.errors import InputError
from verify.image.apt import Apt, run, system_mirrors
from verify.qemu import emulator

PACKAGE = "qemu-user"
STABLE = "stable"
NOT_RESOLVED = 3


def suites() -> tuple[str, ...]:
    """The suites that may have a new enough package: the backports of this Debian, and stable."""
    system = platform.freedesktop_os_release()
    release = system.get("VERSION_CODENAME") if system["ID"] == "debian" else None
    return (f"{release}-backports", STABLE) if release else (STABLE,)


def emulator_in(package: bytes, name: str) -> bytes:
    """The emulator of that name in a Debian package; empty where it has none."""
    with tempfile.NamedTemporaryFile(suffix=".deb") as file:
        file.write(package)
        file.flush()
        unpack = ("dpkg-deb", "--fsys-tarfile", file.name)
        pick = ("tar", "-xO", f"./usr/bin/{name}")
        with subprocess.Popen(unpack, stdout=subprocess.PIPE) as unpacked:
            done = subprocess.run(pick, stdin=unpacked.stdout, capture_output=True, check=False)
    return done.stdout


def fetch(suite: str, name: str) -> bytes:
    """The emulator of that name in a suite, for this machine.

    Raises InputError where the suite has none, or cannot be reached.
    """
    source = f"{PACKAGE} of Debian {suite}"
    host = run(("dpkg", "--print-architecture")).stdout.strip()
    with tempfile.TemporaryDirectory() as scratch:
        apt = Apt(Path(scratch) / "apt", (host,), suite, source)
        apt.update(system_mirrors())
        packages = apt.packages((f"{PACKAGE}:{host}",))
        content = emulator_in(apt.download(packages[0], lambda _: None), name) if packages else b""
    if not content:
        raise InputError(source, f"it has no {name}")
    return content


def get(arch: str) -> None:
    """Put a new enough emulator of an architecture beside Python, if any suite has one."""
    name = qemu.machine_of(arch).emulator
    target = Path(emulator.BESIDE_PYTHON) / name
    for suite in suites():
        sys.stderr.write(f"Getting {name} from {PACKAGE} of Debian {suite}.\n")
        try:
            content = fetch(suite, name)
        except (InputError, OSError) as error:
            sys.stderr.write(f"{error}\n")
            continue
        target.write_bytes(content)
        target.chmod(0o755)
        if not lacking(arch):
            return
        target.unlink()


def lacking(arch: str) -> str:
    """What the newest emulator there is now is too old for; empty if it is not."""
    emulator.newest.cache_clear()
    return qemu.lacking(arch)


def main() -> int:
    """Get what is needed; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m scripts.newer_qemu", description=__doc__)
    parser.add_argument("--check", action="store_true", help="get nothing")
    check = parser.parse_args().check
    status = 0
    for arch in qemu.MACHINES:
        if qemu.lacking(arch) and not check:
            get(arch)
        if reason := lacking(arch):
            sys.stderr.write(f"{reason}\n")
            status = NOT_RESOLVED
    return status


if __name__ == "__main__":
    sys.exit(main())
