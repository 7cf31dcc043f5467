"""The faulty variants: each is one of the good programs with one described change to its source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ARCHITECTURES = ("loongarch64", "powerpc64le")


class PatchError(Exception):
    """A fault's description does not fit its program; the message is one line."""


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which occurs exactly once in the source, by `new`."""

    old: str
    new: str


@dataclass(frozen=True)
class Fault:
    """One fault: its program, what is wrong in a line, and the property that is refuted."""

    name: str
    architecture: str
    base: str
    refuted_by: str
    description: str
    edits: tuple[Edit, ...]

    @property
    def source(self) -> str:
        """The program's source, relative to the top of the repository."""
        return f"binaries/{self.architecture}/{self.base}.S"


def load(directory: Path) -> tuple[Fault, ...]:
    """Read the faults of every architecture from `directory`/<architecture>.toml, in file order."""
    found = []
    for architecture in ARCHITECTURES:
        table = tomllib.loads((directory / f"{architecture}.toml").read_text())
        found += [
            Fault(
                name=entry["name"],
                architecture=architecture,
                base=entry["base"],
                refuted_by=entry["refuted_by"],
                description=entry["description"],
                edits=tuple(Edit(edit["old"], edit["new"]) for edit in entry["edit"]),
            )
            for entry in table.get("fault", [])
        ]
    return tuple(found)


def apply(fault: Fault, source: str) -> str:
    """Return the source of the good program with the fault's edits made.

    Raises PatchError when the text to replace does not occur exactly once.
    """
    for edit in fault.edits:
        occurrences = source.count(edit.old)
        if occurrences != 1:
            raise PatchError(
                f"fault {fault.name}: {edit.old!r} occurs {occurrences} times in {fault.source}"
            )
        source = source.replace(edit.old, edit.new)
    return source
