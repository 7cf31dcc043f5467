"""What the pages say in code: commands with their options, files, and targets of make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_BLOCK = re.compile(r"(?m)(?:^(?: {4}.*)?\n)*^ {4}.*\n(?:^(?: {4}.*)?\n)*")
_SPAN = re.compile(r"`([^`]+)`")
_SEPARATORS = re.compile(r" \| | && | > |; |\s# |[()]")


def blocks(page: str) -> Iterator[str]:
    """The indented blocks of a page, without their indentation."""
    for found in _BLOCK.findall(page):
        yield re.sub(r"(?m)^ {4}", "", found)


def spans(page: str) -> Iterator[str]:
    """The inline code of a page, each on one line."""
    for found in _SPAN.findall(_BLOCK.sub("\n", page)):
        yield " ".join(found.split())


def command_lines(page: str) -> Iterator[list[str]]:
    """The words of each command in the blocks and in the inline code of a page.

    In a block with prompts only what stands behind them is a command.
    """
    for block in blocks(page):
        lines = re.sub(r"\\\n(?:> )?\s*", "", block).splitlines()
        prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        for line in prompted or lines:
            yield from _parts(line)
    for span in spans(page):
        yield from _parts(span)


def _parts(line: str) -> Iterator[list[str]]:
    for part in _SEPARATORS.split(line):
        if words := part.split():
            yield words


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The (file, anchor) of each link of a page to a file."""
    for target in re.findall(r"\]\(([^)\s]+)\)", _BLOCK.sub("\n", page.read_text())):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            yield (page.parent / file).resolve() if file else page, anchor


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and GitLab make them."""
    headings = re.findall(r"(?m)^#+ (.*)$", _BLOCK.sub("\n", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
