"""The instruction encodings of the architectures, one file each: what a form is."""

from __future__ import annotations

from importlib import import_module

from verify.validate.encodings.model import Encoding, Form, Format


def encoding_of(architecture: str) -> Encoding:
    """The encoding of an architecture; raises KeyError where its formats are not known."""
    try:
        encoding: Encoding = import_module(f"{__name__}.{architecture}").ENCODING
    except ModuleNotFoundError:
        raise KeyError(architecture) from None
    return encoding


__all__ = ["Encoding", "Form", "Format", "encoding_of"]
