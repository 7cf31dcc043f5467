"""Writes docs/commands.md, the reference of the command line, from the command line itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from inspect import cleandoc
from textwrap import wrap

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from scripts.pages import DOCS
from verify.cli import PROGRAM, app

PAGE = DOCS / "commands.md"

HEAD = f"""\
# Commands

Every command of `{PROGRAM}` with its options and exit codes, made by `make docs` from what `--help`
says.
"""

_EXIT_CODES = re.compile(r"Exit code(?P<first>, the first that applies)?: (?P<codes>.*)\.")


@dataclass(frozen=True)
class Parameter:
    """An argument or option: its names, as one writes them, and its help text."""

    names: tuple[str, ...]
    written: str
    help: str
    is_argument: bool


@dataclass(frozen=True)
class Command:
    """One command. `name` is what one types, `paragraphs` its help without the exit codes, which
    are (code, what it says), the first that applies in front where `in_order`."""

    name: str
    usage: str
    paragraphs: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    exit_codes: tuple[tuple[int, str], ...]
    in_order: bool
    commands: tuple[Command, ...]

    @property
    def options(self) -> frozenset[str]:
        """All names of all options."""
        found = [one.names for one in self.parameters if not one.is_argument]
        return frozenset(name for names in found for name in names)


def command_line() -> Command:
    """The whole command line; raises ValueError for a help text that cannot be read."""
    command = typer.main.get_command(app)
    assert isinstance(command, TyperGroup)
    return _command(command, typer.Context(command, info_name=PROGRAM))


def every(command: Command) -> Iterator[Command]:
    """A command and all below it."""
    yield command
    for one in command.commands:
        yield from every(one)


def _command(command: TyperCommand | TyperGroup, context: typer.Context) -> Command:
    if not command.help:
        raise ValueError(f"{context.command_path} has no help text")
    paragraphs = [" ".join(text.split()) for text in cleandoc(command.help).split("\n\n")]
    codes = _EXIT_CODES.fullmatch(paragraphs[-1])
    return Command(
        context.command_path,
        " ".join([context.command_path, *command.collect_usage_pieces(context)]),
        tuple(paragraphs[:-1] if codes else paragraphs),
        tuple(_parameters(command, context)),
        tuple(_codes(codes["codes"])) if codes else (),
        bool(codes and codes["first"]),
        tuple(_below(command, context)),
    )


def _below(command: TyperCommand | TyperGroup, context: typer.Context) -> Iterator[Command]:
    if not isinstance(command, TyperGroup):
        return
    for name in command.list_commands(context):
        one = command.get_command(context, name)
        assert isinstance(one, TyperCommand | TyperGroup)
        yield _command(one, typer.Context(one, info_name=name, parent=context))


def _parameters(command: TyperCommand | TyperGroup, context: typer.Context) -> Iterator[Parameter]:
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if not isinstance(one, TyperArgument | TyperOption) or record is None:
            raise ValueError(f"{context.command_path}: {one.name} is hidden")
        written, text = record
        if not one.help:
            raise ValueError(f"{context.command_path}: {one.name} has no help text")
        is_argument = isinstance(one, TyperArgument)
        # Of an argument Typer shows Python's type.
        yield Parameter(
            (*one.opts, *one.secondary_opts),
            written.partition(" <")[0] if is_argument else written,
            " ".join(text.split()),
            is_argument,
        )


def _codes(text: str) -> Iterator[tuple[int, str]]:
    for part in text.split("; "):
        code, _, what = part.partition(" ")
        yield int(code), what


def page(root: Command) -> str:
    """The reference as Markdown."""
    leaves = [one for one in every(root) if not one.commands]
    lines = [HEAD, *_table(("command", "what it does"), (_entry(one) for one in leaves)), ""]
    for one in every(root):
        lines += [f"## {one.name}", "", f"    {one.usage}", ""]
        lines += [line for text in one.paragraphs for line in (*wrap(text, 100), "")]
        lines += _table(("argument or option", "meaning"), map(_row, one.parameters))
        lines.append("")
        if one.exit_codes:
            heading = "exit code, the first that applies" if one.in_order else "exit code"
            rows = ((str(code), what) for code, what in one.exit_codes)
            lines += [*_table((heading, "meaning"), rows), ""]
    return "\n".join(lines)


def _entry(command: Command) -> tuple[str, str]:
    anchor = command.name.replace(" ", "-")
    return f"[{command.name}](#{anchor})", command.paragraphs[0]


def _row(parameter: Parameter) -> tuple[str, str]:
    return f"`{parameter.written}`", parameter.help


def _table(heading: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for row in (heading, ("---", "---"), *rows):
        yield f"| {' | '.join(cell.replace('|', r'\|') for cell in row)} |"


if __name__ == "__main__":
    PAGE.write_text(page(command_line()))
