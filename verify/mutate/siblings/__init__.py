"""Opcodes that are easily taken for each other, one file per instruction set."""

from __future__ import annotations

from importlib import import_module

from verify.mutate.siblings.model import Siblings


def siblings_of(instruction_set: str) -> Siblings:
    """The related opcodes of an instruction set; raises KeyError where they are not known."""
    try:
        siblings: Siblings = import_module(f"{__name__}.{instruction_set}").SIBLINGS
    except ModuleNotFoundError:
        raise KeyError(instruction_set) from None
    return siblings


__all__ = ["Siblings", "siblings_of"]
