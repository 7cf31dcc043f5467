"""The encodings of the instruction sets, one file each: what a form is."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Literal

from verify.validate.encodings.model import Encoding, Form, Format


def encoding_of(instruction_set: str, byte_order: Literal["little", "big"] = "little") -> Encoding:
    """The encoding of an instruction set; raises KeyError where its formats are not known.

    The ENCODING of its file is a function of the byte order where instructions have that of data.
    """
    try:
        found: Encoding | Callable[[Literal["little", "big"]], Encoding] = import_module(
            f"{__name__}.{instruction_set}"
        ).ENCODING
    except ModuleNotFoundError:
        raise KeyError(instruction_set) from None
    return found if isinstance(found, Encoding) else found(byte_order)


__all__ = ["Encoding", "Form", "Format", "encoding_of"]
