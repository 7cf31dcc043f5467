"""The faulty variants: each is one of the good programs with one described change to its source."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BUILD = "build.toml"
FAULTS = "faults.toml"
GETRANDOM = "getrandom"
"""The directory of the complete getrandom's sources, and the program that has the faults."""
GETRANDOM_SOURCE = "getrandom.c"
"""What all of them share."""
GETRANDOM_FAULTS = "getrandom_faults.toml"
_WITHOUT = "without"
_DEFAULT_BASE = "looped"


class PatchError(Exception):
    """A fault's description does not fit its program; the message is one line."""


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which occurs exactly once in the source, by `new`."""

    old: str
    new: str

    def apply(self, source: str) -> str:
        """The source with the text replaced; raises PatchError where it is not there once."""
        occurrences = source.count(self.old)
        if occurrences != 1:
            raise PatchError(f"{self.old!r} occurs {occurrences} times")
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Redefine:
    """Give a macro, which is defined exactly once in the source, another value."""

    name: str
    value: str

    def apply(self, source: str) -> str:
        """The source with the macro redefined; raises PatchError where it is not defined once."""
        pattern = re.compile(rf"^(#define\s+{re.escape(self.name)}\s+).*$", re.MULTILINE)
        changed, occurrences = pattern.subn(rf"\g<1>{self.value}", source)
        if occurrences != 1:
            raise PatchError(f"{self.name} is defined {occurrences} times")
        return changed


@dataclass(frozen=True)
class Fault:
    """One fault in one program: what is wrong, and the properties that it breaks.

    `at_return` tells whether the state in which the function returns, or that it does not, can
    show it. `sources` is the architecture under whose name the program's source is kept, by default
    its own. `file` is the faulty source of a complete getrandom, in binaries/getrandom; empty for a
    fault in a program.
    """

    name: str
    architecture: str
    base: str
    refuted_by: tuple[str, ...]
    description: str
    edits: tuple[Edit | Redefine, ...]
    at_return: bool = True
    sources: str = ""
    file: str = ""

    @property
    def program(self) -> str:
        """Architecture and style of the program, say loongarch64/looped."""
        return f"{self.architecture}/{self.base}"

    @property
    def source(self) -> str:
        """The faulty source, relative to the top of the repository."""
        if self.file:
            return f"binaries/{GETRANDOM}/{self.file}"
        return f"binaries/{self.sources or self.architecture}/{self.base}.S"

    @property
    def path(self) -> str:
        """The built file, relative to the top of the repository."""
        directory = f"binaries/faults/{self.architecture}"
        return (
            f"{directory}/{GETRANDOM}/{self.name}.so"
            if self.file
            else f"{directory}/{self.name}.so"
        )


def load(binaries: Path) -> tuple[Fault, ...]:
    """Read the faults of every architecture below the directory, in their order.

    An architecture whose programs have the sources of another makes a fault as that one does, where
    it does not say itself how.

    Raises PatchError for a fault that an architecture neither makes nor excuses though it is the
    same everywhere, and for one that is made but not described.
    """
    described = tomllib.loads((binaries / FAULTS).read_text())["fault"]
    made = {
        path.parent.name: tomllib.loads(path.read_text())
        for path in sorted(binaries.glob(f"*/{FAULTS}"))
    }
    names = [entry["name"] for entry in described]
    if twice := {name for name in names if names.count(name) > 1}:
        raise PatchError(f"fault {min(twice)} is described twice in {FAULTS}")
    found: list[Fault] = []
    for architecture, own in made.items():
        build = tomllib.loads((binaries / architecture / BUILD).read_text())
        sources = build.get("sources", architecture)
        found += _faults_of(architecture, sources, described, own, made.get(sources, {}))
    return tuple(found)


def load_getrandom(binaries: Path) -> tuple[Fault, ...]:
    """Read the faults in the complete getrandom that are built, architecture by architecture."""
    content = tomllib.loads((binaries / GETRANDOM_FAULTS).read_text())
    return tuple(
        fault
        for architecture in content["architectures"]
        for fault in getrandom_faults_for(binaries, architecture)
    )


def getrandom_faults_for(binaries: Path, architecture: str) -> tuple[Fault, ...]:
    """Read the faults that the complete getrandom of an architecture can have, built or not: those
    in sources that it has."""
    build = tomllib.loads((binaries / architecture / BUILD).read_text())
    own = build[GETRANDOM]
    files = (GETRANDOM_SOURCE, header_of(own, build.get("sources", architecture)), own.get("entry"))
    return tuple(
        Fault(
            name=entry["name"],
            architecture=architecture,
            base=GETRANDOM,
            refuted_by=tuple(entry["refuted_by"]),
            description=entry["description"],
            edits=tuple(Edit(**edit) for edit in edits),
            file=file,
        )
        for entry in tomllib.loads((binaries / GETRANDOM_FAULTS).read_text())["fault"]
        for file, edits in _by_file(entry).items()
        if file in files
    )


def header_of(getrandom: Mapping[str, Any], sources: str) -> str:
    """The header that makes system calls, from the description of a complete getrandom whose other
    sources are kept under the name `sources`."""
    header: str = getrandom.get("header", f"{sources}.h")
    return header


def _by_file(entry: Mapping[str, Any]) -> Mapping[str, list[dict[str, str]]]:
    """The edits of a fault in the complete getrandom, by the file that they are made in."""
    files: dict[str, list[dict[str, str]]] = entry.get("files") or {
        GETRANDOM_SOURCE: entry["edits"]
    }
    return files


def _faults_of(
    architecture: str,
    sources: str,
    described: list[dict[str, Any]],
    own: Mapping[str, Any],
    shared: Mapping[str, Any],
) -> list[Fault]:
    excused = own.get(_WITHOUT, {})
    names = {entry["name"] for entry in described}
    for name in (*own, *excused):
        if name not in {*names, _WITHOUT}:
            raise PatchError(f"fault {name} of {architecture} is not described in {FAULTS}")
    found = []
    for entry in described:
        name = entry["name"]
        if name in excused:
            continue
        everywhere = "redefine" in entry or "after" in entry
        if name in own or everywhere:
            how = own.get(name) or shared.get(name, {})
            found.append(
                Fault(
                    name=name,
                    architecture=architecture,
                    sources=sources,
                    base=how.get("base", entry.get("base", _DEFAULT_BASE)),
                    refuted_by=tuple(entry["refuted_by"]),
                    description=entry["description"],
                    edits=_edits(architecture, entry, how),
                    at_return=entry.get("at_return", True),
                )
            )
    return found


def _edits(
    architecture: str, entry: dict[str, Any], how: dict[str, Any]
) -> tuple[Edit | Redefine, ...]:
    """The architecture's own edits where it has any, else the description's."""
    if "edits" in how:
        return tuple(Edit(**edit) for edit in how["edits"])
    if "redefine" in entry:
        return tuple(Redefine(name, value) for name, value in entry["redefine"].items())
    if "text" not in how or "after" not in entry:
        raise PatchError(f"fault {entry['name']} is neither made nor excused by {architecture}")
    label = f"\n{how.get('after', entry['after'])}:\n"
    return (Edit(label, label + how["text"].strip("\n") + "\n"),)


def apply(fault: Fault, source: str) -> str:
    """Return the source of the good program with the fault's edits made.

    Raises PatchError when an edit does not fit the source.
    """
    for edit in fault.edits:
        try:
            source = edit.apply(source)
        except PatchError as error:
            raise PatchError(f"fault {fault.name}: {error} in {fault.source}") from None
    return source
