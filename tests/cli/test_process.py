"""The command as a process: its streams, its end, and what it leaves on them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import verify

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "verify"]
STRIPPED = "binaries/loongarch64/looped.stripped.so"
SYMBOLS = "binaries/powerpc64le/looped.so"


def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=environment | variables,
    )


def test_version() -> None:
    done = call("--version")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"vdso-verify {verify.__version__}\n",
        "",
    )


@pytest.mark.parametrize("arguments", [["--help"], ["prove", "--help"], ["inspect", "--help"]])
def test_help(arguments: list[str]) -> None:
    done = call(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: vdso-verify ")


def test_help_of_prove_names_every_option() -> None:
    text = call("prove", "--help").stdout
    for option in [
        "function",
        "json",
        "property",
        "timeout",
        "jobs",
        "budget",
        "no-replay",
        "quiet",
    ]:
        assert f"--{option}" in text
    assert "Exit code" in text


def test_exit_code_of_bad_input() -> None:
    done = call("prove", "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "vdso-verify: none: no such file\n"


def test_inspect_says_what_was_found_and_nothing_else() -> None:
    """Not even angr and pypcode, which like to talk, at the start and at the end."""
    done = call("inspect", STRIPPED, SYMBOLS)
    assert (done.returncode, done.stderr) == (0, "")
    for line in (
        f"file          {STRIPPED}",
        "architecture  loongarch64",
        "function      0x360, 0x360..0x6c4, 868 bytes",
        "loop          0x3c4..0x648, 162 instructions",
        "loop          0x418..0x59c, 98 instructions, depth 2",
        "loop 0x418:",
        "  6c0  2000004c  ret",
        "architecture  powerpc64le",
        "located       symbol __arch_chacha20_blocks_nostack",
        "  6ac  2000804e  blr",
    ):
        assert line in done.stdout.splitlines()


def test_inspect_as_json() -> None:
    done = call("inspect", "--json", "-", STRIPPED, "none")
    assert (done.returncode, done.stderr) == (2, "vdso-verify: none: no such file\n")
    document = json.loads(done.stdout)
    (inspection,) = document["inspections"]
    assert inspection["target"]["address"] == "0x360"
    assert len(inspection["instructions"]) * 4 == inspection["target"]["size"] == 868
    assert [error["source"] for error in document["errors"]] == ["none"]


def test_standard_input() -> None:
    with (ROOT / SYMBOLS).open("rb") as file:
        done = subprocess.run(
            [*COMMAND, "inspect", "-"], stdin=file, capture_output=True, check=True
        )
    assert done.stdout.startswith(b"file          standard input\n")


def test_extract_writes_what_can_be_inspected(tmp_path: Path) -> None:
    done = call("extract", SYMBOLS, "-o", str(tmp_path / "a" / "b"))
    assert (done.returncode, done.stderr) == (0, "")
    written = tmp_path / "a" / "b" / "looped.so"
    assert done.stdout.startswith(f"{written}: EM_PPC64, 64-bit, little-endian, ")
    assert written.read_bytes() == (ROOT / SYMBOLS).read_bytes()
    manifest = json.loads((written.parent / "manifest.json").read_text())
    assert [image["file"] for image in manifest["images"]] == ["looped.so"]


def test_a_reader_that_goes_away() -> None:
    with subprocess.Popen(
        [*COMMAND, "inspect", *[SYMBOLS] * 15],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", ">/dev/full"])
def test_closed_streams(closed: str) -> None:
    command = f'"$@" prove none {closed}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *COMMAND], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_locale_without_the_characters_of_a_name(tmp_path: Path) -> None:
    name = tmp_path / "vdso é.so"
    name.write_bytes((ROOT / SYMBOLS).read_bytes())
    done = call("inspect", str(name), LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Traceback" not in done.stdout
    assert done.stdout.startswith("file ")


def test_the_running_kernel(tmp_path: Path) -> None:
    """A verdict where this kernel's vDSO has getrandom, else one line that says that it has not."""
    output = tmp_path / "result.json"
    done = call("prove", "--running", "--property", "stack", "--json", str(output))
    document = json.loads(output.read_text())
    name = f"[vdso] of the running kernel {os.uname().release}"
    if document["results"]:
        (result,) = document["results"]
        assert result["target"]["source"] == name
        assert [variant["name"] for variant in result["variants"]] == ["as it runs"]
        assert done.stdout.startswith(name)
        assert done.returncode == {"PROVED": 0, "REFUTED": 1, "UNKNOWN": 3}[result["verdict"]]
    else:
        (error,) = document["errors"]
        assert error["source"] == name
        assert done.stderr == f"vdso-verify: {name}: {error['reason']}\n"
        assert done.returncode == 2
