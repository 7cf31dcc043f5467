"""From any file a user has to an ELF vDSO."""

from verify.image.elf import (
    GETRANDOM_NAMES,
    SYMBOL,
    Elf,
    Image,
    Relocation,
    Section,
    Segment,
    Symbol,
)
from verify.image.elfparse import parse_elf
from verify.image.extract import extract_to
from verify.image.running import Running
from verify.image.search import Input, images_in, images_of, open_images, read_input

__all__ = [
    "GETRANDOM_NAMES",
    "SYMBOL",
    "Elf",
    "Image",
    "Input",
    "Relocation",
    "Running",
    "Section",
    "Segment",
    "Symbol",
    "extract_to",
    "images_in",
    "images_of",
    "open_images",
    "parse_elf",
    "read_input",
]
