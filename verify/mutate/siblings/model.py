"""Groups of opcodes, each of which may stand for the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from verify.mutate.model import Operator

Group = tuple[int, ...]
"""Opcodes as in `verify.validate.encodings.Form.opcode`."""

Related = Iterator[tuple[Operator, bytes]]


def nothing_else(_code: bytes) -> Related:
    """Every related instruction is one of another opcode in a group."""
    return iter(())


@dataclass(frozen=True)
class Siblings:
    """The related opcodes of one architecture, by what they have in common.

    `nops` gives, by size in bytes, an instruction without effect or several of them, as a word.
    Opcodes of one group take the same operands in the same fields. `others` gives the instructions
    related to one by something else than its opcode, as where a condition is an operand.
    """

    nops: Mapping[int, int]
    branches: tuple[Group, ...] = ()
    widths: tuple[Group, ...] = ()
    operations: tuple[Group, ...] = ()
    others: Callable[[bytes], Related] = nothing_else

    @property
    def groups(self) -> Mapping[Operator, tuple[Group, ...]]:
        """The groups by the operator that chooses among them."""
        return {
            Operator.BRANCH: self.branches,
            Operator.WIDTH: self.widths,
            Operator.SIBLING: self.operations,
        }
