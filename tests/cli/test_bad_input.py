"""Each input or command that cannot be used is one line, exit code 2, and nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.image import containers, elves
from tests.image.test_bad_input import bomb
from verify.cli import run
from verify.errors import printable
from verify.options import PROPERTIES, PROPERTIES_OF
from verify.verdict import Contract

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
GOOD = (ROOT / "binaries/loongarch64/looped.so").read_bytes()
OBJECT = elves.relocatable_object()
GETRANDOM = PROPERTIES_OF[Contract.GETRANDOM]
SH_SIZE, E_SHNUM, TEXT = 32, 60, 1
EM_SPARCV9 = 43
ZSTD = containers.COMPRESSORS["zstd"](elves.kernel(elves.shared_object()))
FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty file"),
    "not ELF": (b"#!/bin/sh\n", "neither ELF nor a known kernel image"),
    "truncated in its header": (GOOD[:20], "truncated ELF file"),
    "truncated in its code": (GOOD[: len(GOOD) // 2], "truncated ELF file"),
    "truncated by one byte": (GOOD[:-1], "truncated ELF file"),
    "unsupported machine": (
        elves.shared_object(machine=EM_SPARCV9),
        "machine EM_SPARCV9, 64-bit, little-endian is not supported; supported are AArch64, ",
    ),
    "wrong byte order": (
        elves.shared_object(layout=elves.Format(little=False)),
        "machine EM_LOONGARCH, 64-bit, big-endian is not supported",
    ),
    "image without a vDSO": (elves.vmlinux(), "no vDSO inside"),
    "vDSO without getrandom": (
        elves.shared_object(exports=("__vdso_time",)),
        "the vDSO has no getrandom function; it exports __vdso_time",
    ),
    "corrupt payload": (containers.zboot(ZSTD[:200] + bytes(300) + ZSTD[500:]), "zstd"),
    "bomb": (containers.zboot(bomb(1 << 33)), "unpacks to more than 32 MiB"),
    "overlapping sections": (
        elves.patched(elves.shared_object(), SH_SIZE, "Q", 80, TEXT),
        "section 2 overlaps section 1",
    ),
    "huge section table": (
        elves.patched(elves.shared_object(), E_SHNUM, "H", 0xFFF0),
        "65520 section headers; 1 to 4096 can be read",
    ),
}


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command line that is wrong says: one line without the program's name."""
    before = sorted(Path.cwd().rglob("*"))
    assert run(arguments) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("vdso-verify: ")
    assert errors.count("\n") == 1 and errors.endswith("\n")
    assert errors[:-1].isprintable()
    assert sorted(Path.cwd().rglob("*")) == before
    return errors.removeprefix("vdso-verify: ").rstrip("\n")


@pytest.mark.parametrize("command", ["prove", "inspect"])
@pytest.mark.parametrize(("data", "reason"), FILES.values(), ids=FILES.keys())
def test_file(command: str, data: bytes, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_bytes(data)
    said = complaint(capsys, command, "file")
    assert said.startswith("file: ")
    assert reason in said


PLACES: dict[str, tuple[str, str]] = {
    "missing": ("none", "none: no such file"),
    "directory": (".", ".: is a directory; give a file in it"),
    "odd name": ("a\x1b\n\udcff", "a\\x1b\\n\\udcff: no such file"),
}


@pytest.mark.parametrize("command", [["prove"], ["inspect"], ["extract", "-o", "out"]])
@pytest.mark.parametrize(("name", "reason"), PLACES.values(), ids=PLACES.keys())
def test_place(
    command: list[str], name: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint(capsys, *command, name) == reason


def test_a_certificate_goes_to_an_empty_directory(capsys: pytest.CaptureFixture[str]) -> None:
    """Which is seen before anything is read or proved."""
    Path("full").mkdir()
    Path("full/file").touch()
    said = complaint(capsys, "prove", "--certificate", "full", "none")
    assert said == "full: is not empty; name a new directory"
    said = complaint(capsys, "prove", "--certificate", "full/file", "none")
    assert said == "full/file: not a directory; name a new directory"


def test_no_permission(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("file")
    file.write_bytes(GOOD)
    file.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may read everything
    try:
        assert run(["prove", "file"]) == 2
    finally:
        os.seteuid(user)
    assert capsys.readouterr().err == "vdso-verify: file: permission denied\n"


USAGE: dict[str, tuple[list[str], str]] = {
    "nothing": ([], "Missing command; see vdso-verify --help"),
    "unknown command": (["proof"], "No such command 'proof'"),
    "unknown option": (["prove", "--fast", "good.so"], "No such option: --fast"),
    "no file": (["prove"], "name a FILE, or give --running; see vdso-verify"),
    "no file to extract": (["extract", "-o", "out"], "name a FILE, or give --running; see"),
    "a file and the running kernel": (
        ["inspect", "--running", "good.so"],
        "give a FILE ('good.so') or --running, not both; see vdso-verify",
    ),
    "unknown property": (
        ["prove", "--property", "speed", "good.so"],
        f"no property 'speed'; properties are {', '.join(PROPERTIES)};",
    ),
    "no property of getrandom": (
        ["prove", "--contract", "getrandom", "--property", "output", "good.so"],
        f"no property 'output'; properties of getrandom are {', '.join(GETRANDOM)};",
    ),
    "no such contract": (["prove", "--contract", "random", "good.so"], "'--contract'"),
    "a certificate of getrandom": (
        ["prove", "--contract", "getrandom", "--certificate", "out", "good.so"],
        "there are no certificates of getrandom: leave out --certificate, or --contract",
    ),
    "a cache for getrandom": (
        ["prove", "--contract", "getrandom", "--cache", "out", "good.so"],
        "of which there are none of getrandom: add --no-cache",
    ),
    "pages of ChaCha20": (
        ["prove", "--page-size", "4096", "good.so"],
        "--page-size is for getrandom: add --contract getrandom",
    ),
    "data page of ChaCha20": (
        ["prove", "--data-page", "0", "good.so"],
        "--data-page is for getrandom: add --contract getrandom",
    ),
    "an object without getrandom": (
        ["prove", "--contract", "getrandom", "good.o"],
        "good.o: it exports no getrandom (__vdso_getrandom or __kernel_getrandom)",
    ),
    "no jobs": (["prove", "--jobs", "0", "good.so"], "'--jobs'"),
    "no time": (["prove", "--timeout", "0", "good.so"], "'--timeout'"),
    "endless time": (["prove", "--timeout", "nan", "good.so"], "'--timeout'"),
    "budget in words": (["prove", "--budget", "much", "good.so"], "'--budget'"),
    "option without value": (["prove", "good.so", "--json"], "'--json' requires an argument"),
    "function outside the text": (
        ["prove", "--function", "0x10", "good.so"],
        "good.so: 0x10 is outside the text (.text 0x300..0x6c4)",
    ),
    "no such function": (
        ["inspect", "--function", "chacha", "good.so"],
        "good.so: no function 'chacha'; functions are __arch_chacha20_blocks_nostack,",
    ),
    "no directory": (["extract", "good.so"], "Missing option '--output'"),
    "directory is a file": (["extract", "good.so", "-o", "good.so"], "good.so: is not a dir"),
    "fetch what": (["fetch"], "Missing command; see vdso-verify fetch --help"),
    "unknown distribution": (["fetch", "hurd"], "No such command 'hurd'"),
    "unknown architecture": (
        ["fetch", "debian", "--arch", "vax", "-o", "out"],
        "vax: not an architecture known here: amd64",
    ),
    "unknown suite": (
        ["fetch", "debian", "--suite", "a b", "-o", "out"],
        "a b: not the name of a Debian suite",
    ),
}


@pytest.mark.parametrize(("arguments", "reason"), USAGE.values(), ids=USAGE.keys())
def test_usage(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("good.so").write_bytes(GOOD)
    Path("good.o").write_bytes(OBJECT)
    assert reason in complaint(capsys, *arguments)


@pytest.mark.parametrize("option", [["--json", "out.json"], ["--json=out.json"]])
@pytest.mark.parametrize("wrong", [["none"], ["--fast"], ["--property", "speed", "none"]])
def test_json_is_written_all_the_same(option: list[str], wrong: list[str]) -> None:
    assert run(["prove", *option, *wrong]) == 2
    document = json.loads(Path("out.json").read_text())
    assert (document["exit_code"], document["results"]) == (2, [])
    (error,) = document["errors"]
    assert error["kind"] == "input"
    assert error["reason"]
    assert [path.name for path in Path.cwd().iterdir()] == ["out.json"]


def test_each_file_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prove", "--json", "-", "none", ".", "nil"]) == 2
    output, errors = capsys.readouterr()
    assert errors.splitlines() == [
        "vdso-verify: none: no such file",
        "vdso-verify: .: is a directory; give a file in it",
        "vdso-verify: nil: no such file",
    ]
    assert [error["source"] for error in json.loads(output)["errors"]] == ["none", ".", "nil"]


UNWRITABLE: dict[str, tuple[Callable[[Path], str], str]] = {
    "directory": (str, "cannot be written (it is a directory)"),
    "nowhere": (lambda _: "none/out.json", "cannot be written (No such file or directory)"),
    "full": (lambda _: "/dev/full", "cannot be written (No space left on device)"),
    "zero byte": (lambda _: "a\0b", "cannot be written (embedded null byte)"),
}


@pytest.mark.parametrize(("make", "reason"), UNWRITABLE.values(), ids=UNWRITABLE.keys())
def test_json_that_cannot_be_written(
    make: Callable[[Path], str],
    reason: str,
    directory: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["prove", "none", "--json", make(directory)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "vdso-verify: none: no such file"
    assert second == f"vdso-verify: {printable(make(directory))}: {reason}"
    assert list(directory.iterdir()) == []


def test_json_goes_through_links_and_into_pipes(directory: Path) -> None:
    Path("link").symlink_to("real.json")
    run(["prove", "none", "--json", "link"])
    assert Path("link").is_symlink()
    assert json.loads(Path("real.json").read_text())["exit_code"] == 2
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, cwd=directory) as reader:
        run(["prove", "none", "--json", "pipe"])
        output, _ = reader.communicate()
    assert json.loads(output)["exit_code"] == 2
    assert Path("pipe").is_fifo()


def test_quick_answers_do_not_import_angr() -> None:
    """Its import takes longer than any of these may."""
    Path("good.so").write_bytes(GOOD)
    for name, (data, _) in FILES.items():
        Path(name).write_bytes(data)
    lines = [
        ["--help"],
        ["--version"],
        ["inspect", "--help"],
        ["prove", "--help"],
        *(arguments for arguments, _ in USAGE.values()),
        *(["prove", name] for name in FILES),
        ["extract", "good.so", "-o", "out"],
    ]
    script = (
        "import sys; from verify.cli import run\n"
        f"for line in {lines!r}:\n"
        "    run(line)\n"
        "    slow = {'angr', 'z3', 'pypcode', 'pyvex'} & sys.modules.keys()\n"
        "    assert not slow, (line, slow)"
    )
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
