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
    """One fault in one program: what is wrong, and the properties that it breaks."""

    name: str
    architecture: str
    base: str
    refuted_by: tuple[str, ...]
    description: str
    edits: tuple[Edit, ...]

    @property
    def program(self) -> str:
        """Architecture and style of the program, say loongarch64/looped."""
        return f"{self.architecture}/{self.base}"

    @property
    def source(self) -> str:
        """The program's source, relative to the top of the repository."""
        return f"binaries/{self.program}.S"

    @property
    def path(self) -> str:
        """The built file, relative to the top of the repository."""
        return f"binaries/faults/{self.architecture}/{self.name}.so"


def load(path: Path) -> tuple[Fault, ...]:
    """Read the list of faults, in its order; a fault is there once for each of its programs."""
    return tuple(
        Fault(
            name=entry["name"],
            architecture=architecture,
            base=entry[architecture]["base"],
            refuted_by=tuple(entry["refuted_by"]),
            description=entry["description"],
            edits=tuple(Edit(**edit) for edit in entry[architecture]["edits"]),
        )
        for entry in tomllib.loads(path.read_text())["fault"]
        for architecture in ARCHITECTURES
        if architecture in entry
    )


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
