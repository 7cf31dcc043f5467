"""The help texts are complete, and docs/commands.md says the same; `make docs` renews it."""

from __future__ import annotations

import pytest

from scripts.commands import PAGE, Command, command_line, every, page
from verify.cli import run

COMMANDS = tuple(every(command_line()))
LEAVES = pytest.mark.parametrize(
    "command", [one for one in COMMANDS if not one.commands], ids=lambda one: one.name
)


def test_the_reference_is_what_help_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert PAGE.read_text() == page(command_line()), "stale: run `make docs`"


def test_every_command_and_every_option_is_in_it() -> None:
    text = PAGE.read_text()
    for command in COMMANDS:
        section = text.partition(f"## {command.name}\n")[2].partition("\n## ")[0]
        for name in command.options:
            assert name in section, f"{command.name} {name}"


@LEAVES
def test_help_tells_the_exit_codes(command: Command) -> None:
    codes = [code for code, _ in command.exit_codes]
    assert {0, 2} <= set(codes) | ({0} if command.name.endswith(" replay") else set())
    assert len(set(codes)) == len(codes)
    assert set(codes) <= {0, 1, 2, 3}
    assert all(what for _, what in command.exit_codes)
    assert command.in_order == ({1, 2} <= set(codes))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one.name)
def test_every_text_is_a_sentence(command: Command) -> None:
    texts = [*command.paragraphs, *(one.help.partition(" [")[0] for one in command.parameters)]
    for text in texts:
        assert text[:1].isupper() or text[:1].isdigit() or text[:2] == "pip", text
        assert text.endswith("."), text


@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if one.commands], ids=lambda one: one.name
)
def test_lists_of_commands_are_not_cut_off(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*command.name.split()[1:], "--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:")[2]
    assert listed
    assert "..." not in listed
