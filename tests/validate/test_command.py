"""The command: its table, its JSON, its exit code and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tests.tables import STEP, Patchable
from tests.test_variants import compiled
from tests.validate.readings import BINARIES, target_of
from verify.errors import InputError
from verify.validate import command
from verify.validate.campaign import validate

app = typer.Typer()
command.register(app)


@app.command("other")
def other() -> None:
    """Make `validate-lifter` the name of a command, not only one among none."""


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["validate-lifter", *arguments], standalone_mode=False)


def test_one_binary(tmp_path: Path) -> None:
    file = tmp_path / "validation.json"
    binary = str(BINARIES / "loongarch64" / "looped.so")
    done = run("--binary", binary, "--states", "64", "--trials", "2", "--json", str(file))
    assert done.return_value == 0, done.output
    assert "whole calls, compared in memory, stack and registers" in done.output
    assert "rotri.w" in done.output and "DIFFERS" not in done.output
    content = json.loads(file.read_text())
    assert content["exit_code"] == 0
    (whole,) = content["functions"]
    assert (whole["trials"], whole["mismatches"], whole["passed"]) == (256, 0, True)
    (architecture,) = content["architectures"]
    assert architecture["architecture"] == "loongarch64"
    (rotate,) = (form for form in architecture["forms"] if form["mnemonics"] == ["rotri.w"])
    assert rotate["form"] == "004c8000/ffff8000"
    assert (rotate["mismatches"], rotate["passed"]) == (0, True)
    assert all(row["states"] == 64 for row in rotate["rows"] if row["occurs"])


def test_what_only_the_kernel_puts_in_is_compared(tmp_path: Path) -> None:
    Patchable("s390x", STEP["s390x"], "\tahi\tdst, 64\n").target(tmp_path)
    (built,) = tmp_path.glob("*.so")
    done = run("--binary", str(built), "--states", "16", "--trials", "0", "--json", "-")
    (architecture,) = json.loads(done.output)["architectures"]
    (form,) = (form for form in architecture["forms"] if form["mnemonics"] == ["ahi"])
    assert form["passed"]


def test_both_lifters() -> None:
    binary = str(BINARIES / "powerpc" / "looped.so")
    arguments = ("--binary", binary, "--states", "16", "--trials", "0", "--both-lifters")
    done = run(*arguments, "--json", "-")
    assert done.return_value == 0
    architectures = json.loads(done.output)["architectures"]
    assert [one["architecture"] for one in architectures] == ["powerpc", "powerpc"]
    assert [one["lifter"] for one in architectures] == ["vex", "pcode"]
    forms = [{form["form"] for form in one["forms"]} for one in architectures]
    assert forms[0] == forms[1]
    assert all(form["passed"] for one in architectures for form in one["forms"])


def test_json_alone_on_standard_output() -> None:
    binary = str(BINARIES / "loongarch64" / "looped.so")
    done = run("--binary", binary, "--states", "16", "--trials", "0", "--json", "-")
    document = json.loads(done.output)
    assert (document["format"], document["functions"]) == (3, [])


@pytest.mark.usefixtures("without_qemu")
def test_without_qemu_nothing_passes() -> None:
    done = run("--binary", str(BINARIES / "powerpc64le" / "looped.so"))
    assert done.return_value == 3
    assert "QEMU is missing" in done.output
    assert "sudo apt-get install qemu-user" in done.output
    assert " same" not in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--arch", "m68k"), "no architecture 'm68k'"),
        (("--binary", "/nowhere/x.so"), "No such file|no such file"),
        (
            ("--arch", "powerpc64le", "--binary", str(BINARIES / "loongarch64" / "looped.so")),
            "no function of this architecture",
        ),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert isinstance(done.exception, (InputError, typer.BadParameter))
    assert any(part in str(done.exception) for part in message.split("|"))
    assert "\n" not in str(done.exception)


def test_a_difference_is_shown_with_its_first_state(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    from tests.validate.readings import stock
    from verify.validate.report import print_validation, to_json

    validation = validate(target_of("loongarch64", 0x004CB084), 32, lifter=stock)
    print_validation(Console(width=120), validation)
    output = capsys.readouterr().out
    assert "DIFFERS" in output
    assert "states differ; the first in a0: QEMU 0x" in output
    (form,) = (
        form
        for form in json.loads(to_json([validation]))["architectures"][0]["forms"]
        if form["mnemonics"] == ["rotri.w"]
    )
    first = next(row["first"] for row in form["rows"] if row["first"])
    assert first["expected"] != first["got"]
    assert len(first["registers"]) > 32


def test_the_instructions_of_getrandom() -> None:
    binary = str(BINARIES / "loongarch64" / "getrandom.so")
    arguments = ("--binary", binary, "--states", "16", "--trials", "0", "--json", "-")
    mnemonics = {}
    for contract in ("chacha20", "getrandom"):
        done = run(*arguments, "--contract", contract)
        assert done.return_value == 0
        (architecture,) = json.loads(done.output)["architectures"]
        assert all(form["passed"] for form in architecture["forms"])
        mnemonics[contract] = {name for form in architecture["forms"] for name in form["mnemonics"]}
    assert "masknez" in mnemonics["getrandom"] - mnemonics["chacha20"]
    assert "rotri.w" in mnemonics["chacha20"] - mnemonics["getrandom"]
    assert not {"syscall", "dbar"} & mnemonics["getrandom"]


def test_a_file_need_only_have_one_of_the_contracts(tmp_path: Path) -> None:
    target = compiled("loongarch64", (), tmp_path)
    arguments = ("--binary", target.source, "--states", "16", "--trials", "0")
    alone = run(*arguments, "--contract", "getrandom")
    assert isinstance(alone.exception, InputError)
    assert "exports no getrandom" in str(alone.exception)
    both = run(*arguments, "--contract", "getrandom", "--contract", "chacha20")
    assert both.return_value == 0
