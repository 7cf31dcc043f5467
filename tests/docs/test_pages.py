"""What the pages name exists: files, headings, commands, options, targets of make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.commands import Command, command_line, every
from scripts.pages import DOCS, README, ROOT, pages
from tests.docs.reading import anchors, command_lines, links, spans

PAGES = pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
COMMAND_LINE = command_line()
OPTIONS = frozenset(name for command in every(COMMAND_LINE) for name in command.options)
TARGETS = frozenset(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
FOLDERS = ("binaries", "docs", "notebooks", "scripts", "specs", "tests", "verify")


def unknown(words: list[str]) -> Iterator[str]:
    """What is no command or option in the words of a command line, or in a part of one that
    begins with a command or an option of the program."""
    words = [re.sub(r"[,.:;]+\Z", "", word.partition("=")[0]) for word in words]
    command: Command | None = COMMAND_LINE
    if words[0].rpartition("/")[2] == COMMAND_LINE.name:
        words = words[1:]
    elif words[0].startswith("--"):
        command = None
    elif words[0] not in {one.name.split()[1] for one in COMMAND_LINE.commands}:
        return
    for word in words:
        below = {one.name.rpartition(" ")[2]: one for one in command.commands} if command else {}
        if word.startswith("-"):
            if word not in (command.options if command else OPTIONS):
                yield word
                return
        elif below and re.fullmatch(r"[a-z-]+", word):
            if word not in below:
                yield word
                return
            command = below[word]


@PAGES
def test_every_command_and_option_exists(page: Path) -> None:
    for words in command_lines(page.read_text()):
        assert list(unknown(words)) == [], " ".join(words)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("vdso-verify prove --jsn x", ["--jsn"]),
        ("vdso-verify prov FILE", ["prov"]),
        (".venv/bin/vdso-verify fetch debian --suit x", ["--suit"]),
        ("vdso-verify fetch --arch x", ["--arch"]),
        ("vdso-verify prove -q --json=x FILE", []),
        ("check --prove", ["--prove"]),
        ("--both-lifter", ["--both-lifter"]),
        ("--both-lifters", []),
        ("sha256sum --quiet", []),
    ],
)
def test_what_does_not_exist_is_seen(line: str, found: list[str]) -> None:
    assert list(unknown(line.split())) == found


@PAGES
def test_every_target_of_make_exists(page: Path) -> None:
    for words in command_lines(page.read_text()):
        if words[0] == "make" and not any("/" in word or word.isupper() for word in words):
            assert {word for word in words[1:] if "=" not in word} <= TARGETS, " ".join(words)


@PAGES
def test_every_link_leads_somewhere(page: Path) -> None:
    for file, anchor in links(page):
        assert file.exists(), file
        assert ROOT in file.parents
        if anchor:
            assert anchor in anchors(file), f"{file.name}#{anchor}"


@PAGES
def test_every_file_that_is_named_exists(page: Path) -> None:
    for span in spans(page.read_text()):
        name = span.rstrip("/")
        if re.fullmatch(rf"(?:{'|'.join(FOLDERS)})/[\w./*-]+", name):
            assert list(ROOT.glob(name)), span
        for module in re.findall(r"python -m ((?:binaries|scripts|verify)\.\w+)", span):
            assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists(), module


def test_the_index_leads_to_every_page() -> None:
    index = DOCS / "README.md"
    missing = set(DOCS.rglob("*.md")) - {file for file, _ in links(index)} - {index}
    assert not missing, "name it in docs/README.md"
    assert DOCS / "README.md" in {file for file, _ in links(README)}


def members(schema: object) -> Iterator[str]:
    """The names of all members of objects that a JSON Schema describes."""
    for value in schema.values() if isinstance(schema, dict) else ():
        if isinstance(value, dict):
            yield from members(value)
    if isinstance(schema, dict) and schema.get("type") == "object":
        yield from schema.get("properties", ())


@pytest.mark.parametrize("name", ["result", "inspection"])
def test_every_member_of_the_json_is_explained(name: str) -> None:
    schema = json.loads((ROOT / f"verify/schema/{name}.schema.json").read_text())
    found = set(members(schema))
    explained = set(re.findall(r"`(\w+)`", (DOCS / "result-format.md").read_text()))
    assert len(found) > 20
    assert found <= explained, found - explained


def test_something_was_looked_at() -> None:
    lines = [words for page in pages() for words in command_lines(page.read_text())]
    used = {" ".join(words[:2]) for words in lines if words[0] == COMMAND_LINE.name}
    assert used >= {one.name for one in COMMAND_LINE.commands}
    assert sum(1 for page in pages() for _ in links(page)) > 30
