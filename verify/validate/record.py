"""The committed record of the instruction forms that were compared with QEMU.

It holds for one version of the semantics: whatever decides how an instruction is read is hashed, so
that a change makes the record say nothing until it is made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from verify.arch import ARCHITECTURES, Architecture, by_name
from verify.target import Target
from verify.validate.encodings import Form, encoding_of
from verify.validate.model import Validation

RECORD = Path(__file__).with_name("record.json")
LEAST_STATES = 256
"""A form counts as compared only if each instruction of it that occurs had so many states."""

_PACKAGE = Path(__file__).resolve().parents[1]
_LIFTERS = {"pcode": ("angr", "pypcode"), "vex": ("angr", "pyvex")}


@dataclass(frozen=True)
class Compared:
    """What the record says of an architecture."""

    semantics: str
    executor: str
    forms: Mapping[Form, tuple[str, ...]]
    """The forms, with the mnemonics that they occurred under."""


@cache
def semantics_version(architecture: Architecture) -> str:
    """A hash of everything that decides how the harness reads an instruction, in hexadecimal.

    That is the source of `verify.lift` and `verify.terms` (without the semantics of other
    instruction sets), the lifter's language and the byte order, and the versions of angr and of its
    lifter.
    """
    mine = f"{architecture.instruction_set}.py"
    others = {f"{other.instruction_set}.py" for other in ARCHITECTURES} - {mine}
    sources = sorted(
        path
        for room in ("lift", "terms")
        for path in (_PACKAGE / room).rglob("*.py")
        if path.name not in others
    )
    digest = hashlib.sha256(f"{architecture.lifter} {architecture.byte_order}".encode())
    for package in _LIFTERS[architecture.lifter.engine]:
        digest.update(f"{package} {version(package)}\n".encode())
    for path in sources:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def unchecked_forms(
    target: Target, instructions: Iterable[int], *, path: Path = RECORD
) -> tuple[str, ...]:
    """The forms of the instructions at these addresses that the record does not vouch for.

    Nor does it for operands with which the manual does not define an instruction. Each is named
    once, as opcode/mask (in hexadecimal) and the first address; none means that every instruction
    form was compared with QEMU for the present version of the semantics.
    """
    architecture = target.architecture
    try:
        encoding = encoding_of(architecture.instruction_set, architecture.byte_order)
    except KeyError:
        return (f"all of {architecture.title}: its encodings are not known",)
    recorded = load(path).get(architecture.name)
    current = recorded is not None and recorded.semantics == semantics_version(architecture)
    known = recorded.forms if recorded is not None and current else {}
    found: dict[Form, int] = {}
    for address in instructions:
        code = target.code(address, target.instruction_size(address))
        if code is None:
            return (f"the instruction at {address:#x}, which is not in the image",)
        form, kind = encoding.form(code), encoding.format(code)
        if form not in known or not kind.defined(encoding.word(code)):
            found.setdefault(form, address)
    return tuple(f"{form} at {address:#x}" for form, address in found.items())


def load(path: Path = RECORD) -> dict[str, Compared]:
    """The record by architecture; empty where there is none."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text())
    return {
        name: Compared(
            entry["semantics"],
            entry["executor"],
            {Form.parse(form): tuple(names) for form, names in entry["forms"].items()},
        )
        for name, entry in content["architectures"].items()
    }


def save(validations: Iterable[Validation], path: Path = RECORD) -> None:
    """Write the record anew for the architectures validated; the others stay as they are.

    A form is recorded when every instruction of it was compared, none differed, and it, and every
    one of it that occurs, had LEAST_STATES states. What a second lifter read is not recorded: the
    caveat is of the first.
    """
    entries: dict[str, Any] = {
        name: {
            "semantics": compared.semantics,
            "executor": compared.executor,
            "forms": {str(form): names for form, names in compared.forms.items()},
        }
        for name, compared in load(path).items()
    }
    for validation in validations:
        if validation.lifter != by_name(validation.architecture).lifter.engine:
            continue
        enough = validation.states >= LEAST_STATES
        entries[validation.architecture] = {
            "semantics": validation.semantics,
            "executor": validation.executor,
            "forms": {
                str(group.form): sorted(group.mnemonics)
                for group in sorted(validation.groups, key=lambda group: group.form)
                if group.passed and enough and group.states >= LEAST_STATES
            },
        }
    content = {"architectures": dict(sorted(entries.items()))}
    path.write_text(json.dumps(content, indent=1) + "\n")
