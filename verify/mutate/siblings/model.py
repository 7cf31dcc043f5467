"""Groups of opcodes, each of which may stand for the others."""

from __future__ import annotations

from dataclasses import dataclass

Group = tuple[int, ...]
"""Opcodes as in `verify.validate.encodings.Form.opcode`."""


@dataclass(frozen=True)
class Siblings:
    """The related opcodes of one architecture, by what they have in common.

    `nop` is an instruction without effect, as a word. Opcodes of one group take the same operands
    in the same fields.
    """

    nop: int
    branches: tuple[Group, ...]
    widths: tuple[Group, ...]
    operations: tuple[Group, ...]
