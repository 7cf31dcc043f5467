"""The text report, compared with golden files, and what it is on terminals and in pipes."""

from __future__ import annotations

import dataclasses
import io
import os
from typing import TYPE_CHECKING

import pytest

from tests.report import samples
from tests.report.render import GOLDEN, report
from verify.counterexample import RegisterValue
from verify.report.console import console_for
from verify.report.display import Display, complain
from verify.report.live import live_line
from verify.report.text import print_one_line, print_result, print_totals
from verify.resultjson import Failed, Failure
from verify.verdict import Contract, Result, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

ESCAPE = "\x1b"


class Terminal(io.StringIO):
    """A file that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(("name", "result"), samples.ALL.items())
def test_golden(name: str, result: Result) -> None:
    assert report(result) == (GOLDEN / f"{name}.txt").read_text()


def test_golden_files_are_all_compared() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*samples.ALL, "page"}


@pytest.mark.parametrize("result", samples.ALL.values())
def test_all_but_the_footing_fits_80_columns(result: Result) -> None:
    assert all(len(line) <= 80 for line in report(result).splitlines()[:-1])


def test_a_refutation_says_all_that_is_needed_to_repeat_it() -> None:
    text = " ".join(report(samples.REFUTED).split())
    found = samples.COUNTEREXAMPLE
    for part in (
        " ".join(f"{word:#010x}" for word in found.key),
        "000102030405060700000000010000000200000003000000ffffffff00000080",
        "0x0000000100000000",
        "nblocks 2",
        f"expected {found.expected}",
        f"actual {found.actual}",
        "deviates at 0x4a4 rotri.w t0, t0, 0xf",
        found.executed_by,
    ):
        assert part in text


def test_words_that_differ_are_marked_by_a_sign() -> None:
    lines = report(samples.REFUTED).splitlines()
    (first,) = (n for n, line in enumerate(lines) if "actual (* differs)" in line)
    shown = lines[first + 1 : first + 5]
    assert [line.split() for line in shown] == [
        [f"{word:08x}" for word in range(row, row + 4)]
        + [
            f"{word:08x}{'' if word == expected else '*'}"
            for word, expected in zip(
                samples.COUNTEREXAMPLE.actual_words[row : row + 4], range(row, row + 4), strict=True
            )
        ]
        for row in range(0, 16, 4)
    ]
    assert sum(line.count("*") for line in shown) == 2


def test_second_call() -> None:
    found = dataclasses.replace(
        samples.COUNTEREXAMPLE,
        other_key=(0, 0, 0, 0, 0, 0, 0, 0x80),
        other_registers=(RegisterValue("t3", 0xABC),),
        expected_words=(),
        departure=None,
    )
    first, *others = samples.REFUTED.properties
    changed = dataclasses.replace(first, counterexample=found)
    text = report(dataclasses.replace(samples.REFUTED, properties=(changed, *others)))
    assert "other key    0x00000000 0x00000000 0x00000000 0x00000000\n" in text
    assert "               0x00000000 0x00000000 0x00000000 0x00000080\n" in text
    assert "others       t3 0xabc\n" in text
    assert "differs" not in text


def test_in_place_and_without_deviation() -> None:
    found = dataclasses.replace(
        samples.COUNTEREXAMPLE, in_place=True, deviation=None, departure=None
    )
    first, *others = samples.REFUTED.properties
    changed = dataclasses.replace(first, counterexample=found)
    text = report(dataclasses.replace(samples.REFUTED, properties=(changed, *others)))
    assert "dst + 96" in text
    assert "deviates" not in text


def with_stack(verdict: Verdict) -> Result:
    """Only the stack property, without a discipline."""
    found = samples.property_result("stack", verdict)
    return dataclasses.replace(samples.PROVED, properties=(found,), discipline="")


def test_no_discipline_is_claimed_that_was_not_decided() -> None:
    assert "stack: neither discipline is met" in report(with_stack(Verdict.REFUTED))
    assert "stack: not decided" in report(with_stack(Verdict.UNKNOWN))


def test_of_a_getrandom_no_discipline_is_shown() -> None:
    found = dataclasses.replace(with_stack(Verdict.PROVED), contract=Contract.GETRANDOM)
    assert "stack:" not in report(found)


def test_without_the_stack_property_there_is_no_stack_table() -> None:
    only = dataclasses.replace(samples.PROVED, properties=samples.PROVED.properties[:1])
    assert "stack:" not in report(only)


COLOURS: dict[str, tuple[Callable[[], io.StringIO], dict[str, str], bool]] = {
    "terminal": (Terminal, {}, True),
    "pipe": (io.StringIO, {}, False),
    "no colour": (Terminal, {"NO_COLOR": "1"}, False),
    "dumb": (Terminal, {"TERM": "dumb"}, False),
}


@pytest.mark.parametrize(("make", "variables", "coloured"), COLOURS.values(), ids=COLOURS.keys())
def test_colours(
    make: Callable[[], io.StringIO],
    variables: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    file = make()
    print_result(console_for(file), samples.REFUTED)
    assert ("\x1b[1;31mREFUTED" in file.getvalue()) is coloured


def test_names_from_files_cannot_control_the_terminal() -> None:
    target = dataclasses.replace(
        samples.TARGET,
        source="a\x1b[2Jb\udcff[red]c",
        path=("x", "y\nz"),
        function="f\x1b",
        located="symbol\r",
    )
    text = report(dataclasses.replace(samples.PROVED, target=target))
    assert ESCAPE not in text
    assert "\r" not in text
    assert "a\\x1b[2Jb\\udcff[red]c" in text
    assert "x > y\\nz" in text


def lines_of(print_it: Callable[[io.StringIO], None]) -> list[str]:
    file = io.StringIO()
    print_it(file)
    return file.getvalue().splitlines()


def test_one_line() -> None:
    lines = lines_of(lambda file: print_one_line(console_for(file), samples.REFUTED))
    assert lines == ["linux-binary-7.2.13_ppc64el.deb: 0x760: REFUTED"]


def test_totals() -> None:
    results = list(samples.ALL.values())
    lines = lines_of(lambda file: print_totals(console_for(file), results, 0))
    assert lines == ["6 functions: 2 PROVED, 2 REFUTED, 2 UNKNOWN"]
    lines = lines_of(lambda file: print_totals(console_for(file), results[:1], 2))
    assert lines == ["1 functions: 1 PROVED; 2 errors"]


def test_live_line_is_for_terminals() -> None:
    terminal, pipe, quiet = Terminal(), io.StringIO(), Terminal()
    for file, silent in ((terminal, False), (pipe, False), (quiet, True)):
        with live_line(file, "[1 of 2] looped.so", quiet=silent) as line:
            line.update("decide", "output/word-3", 12, 97)
    shown = terminal.getvalue()
    assert "s  [1 of 2] looped.so: 12/97 decide output/word-3" in shown
    assert shown.endswith("\x1b[?25h") or "\x1b[2K" in shown  # and gone again
    assert pipe.getvalue() == ""
    assert quiet.getvalue() == ""


def test_display_prints_reports_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display(quiet=False, silent=False, debug=False)
    display.finished(samples.PROVED)
    display.failed(Failure(Failed.INPUT, "file", "empty file"))
    output, errors = capsys.readouterr()
    assert output.startswith("vdso/looped.so")
    assert errors == "vdso-verify: file: empty file\n"
    Display(quiet=True, silent=False, debug=False).finished(samples.PROVED)
    Display(quiet=False, silent=True, debug=False).finished(samples.PROVED)
    output, errors = capsys.readouterr()
    assert output == "vdso/looped.so: __arch_chacha20_blocks_nostack: PROVED\n"
    assert errors == ""


def test_traceback_only_of_internal_errors_and_only_when_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    internal = Failure(Failed.INTERNAL, "", "broken")
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        complain(internal)
        assert capsys.readouterr().err == "vdso-verify: broken\n"
        complain(internal, debug=True)
        assert "Traceback" in capsys.readouterr().err
        complain(Failure(Failed.INPUT, "", "x"), debug=True)
        assert capsys.readouterr().err == "vdso-verify: x\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as file:
        console = console_for(file)
        for _ in range(3):
            print_result(console, samples.PROVED)
            file.flush()
