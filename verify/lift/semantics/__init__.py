"""Meanings of instructions that the stock lifters lack or get wrong, one file per architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from verify.lift.engine import Layout
from verify.lift.machine import Machine


class Meaning(Protocol):
    """Executes one instruction, given its encoding."""

    def __call__(self, machine: Machine, layout: Layout, word: int) -> None: ...


@dataclass(frozen=True)
class Semantics:
    """The complete meaning of one mnemonic.

    `manual` is the section that defines it, `report` the public report of the lifter's fault.
    """

    mnemonic: str
    run: Meaning
    manual: str
    report: str


def semantics_for(architecture: str) -> Mapping[str, Semantics]:
    """The replacements for one architecture, by the lifter's mnemonic; empty when it has none."""
    name = f"{__name__}.{architecture}"
    if find_spec(name) is None:
        return {}
    table: Mapping[str, Semantics] = import_module(name).SEMANTICS
    return table
