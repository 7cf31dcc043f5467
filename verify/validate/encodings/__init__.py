"""The encodings of the instruction sets, one file each: what a form is."""

from __future__ import annotations

from importlib import import_module
from typing import Literal

from verify.validate.encodings.model import Encoding, Form, Format


def encoding_of(instruction_set: str, byte_order: Literal["little", "big"] = "little") -> Encoding:
    """The encoding of an instruction set; raises KeyError where its formats are not known.

    A file has an ENCODING, or a function `encoding` of the byte order of data where instructions
    have that, too.
    """
    try:
        module = import_module(f"{__name__}.{instruction_set}")
    except ModuleNotFoundError:
        raise KeyError(instruction_set) from None
    known: Encoding = (
        module.ENCODING if hasattr(module, "ENCODING") else module.encoding(byte_order)
    )
    return known


__all__ = ["Encoding", "Form", "Format", "encoding_of"]
