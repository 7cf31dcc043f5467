"""ELF headers and tables, checked against the size of the file before anything else is read.

The layouts of the structures come from pyelftools; its classes for whole files do not check sizes
and counts and are not used on untrusted input.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from elftools.construct import ConstructError
from elftools.elf.structs import ELFStructs

from verify.errors import FormatError
from verify.image.compression import Buffer

MAGIC = b"\x7fELF"
IDENT_SIZE = 16
HEADER_SIZES = {32: 52, 64: 64}
PROGRAM_HEADER_LIMIT = 128
SECTION_LIMIT = 4096

SHN_XINDEX = 0xFFFF
NO_CONTENTS = ("SHT_NULL", "SHT_NOBITS")


@lru_cache
def _structs(little_endian: bool, bits: int, kind: str, machine: str) -> ELFStructs:
    structs = ELFStructs(little_endian=little_endian, elfclass=bits)
    structs.create_basic_structs()
    if kind:
        structs.create_advanced_structs(kind, machine, "ELFOSABI_SYSV")
    return structs


def parse(layout: Any, data: Buffer, offset: int) -> Any:
    """Return the structure `layout` at `offset`; `FormatError` when the data ends before."""
    try:
        return layout.parse(bytes(data[offset : offset + layout.sizeof()]))
    except ConstructError:
        raise FormatError("truncated ELF file") from None


@dataclass(frozen=True)
class Header:
    """The ELF header at `base` in some data, with the structure layouts of its class."""

    base: int
    bits: int
    little_endian: bool
    kind: str
    machine: str
    fields: Any
    structs: Any


def read_header(data: Buffer, base: int = 0) -> Header:
    """Read the ELF header at `base`; `FormatError` when it is not a usable one."""
    ident = bytes(data[base : base + IDENT_SIZE])
    if len(ident) < IDENT_SIZE or not ident.startswith(MAGIC):
        raise FormatError("truncated ELF file" if MAGIC.startswith(ident[:4]) else "not ELF")
    if ident[4] not in (1, 2) or ident[5] not in (1, 2) or ident[6] != 1:
        raise FormatError("damaged ELF header (class, byte order or version)")
    bits, little_endian = 32 * ident[4], ident[5] == 1
    fields = parse(_structs(little_endian, bits, "", "").Elf_Ehdr, data, base)
    if fields.e_ehsize != HEADER_SIZES[bits]:
        raise FormatError("damaged ELF header (its own size is wrong)")
    machine = fields.e_machine
    name = machine if isinstance(machine, str) else f"EM_{machine}"
    kind = fields.e_type if isinstance(fields.e_type, str) else str(fields.e_type)
    structs = _structs(little_endian, bits, kind, name)
    return Header(base, bits, little_endian, kind, name, fields, structs)


def _table(
    header: Header, data: Buffer, what: str, layout: Any, offset: int, size: int, count: int
) -> tuple[Any, ...]:
    if size != layout.sizeof():
        raise FormatError(f"damaged ELF header (size of a {what} table entry)")
    start = header.base + offset
    if start + count * size > len(data):
        raise FormatError(f"truncated ELF file (the {what} table lies behind its end)")
    return tuple(parse(layout, data, start + i * size) for i in range(count))


def program_headers(header: Header, data: Buffer) -> tuple[Any, ...]:
    """Return the program headers; `FormatError` when they are too many or outside the file."""
    fields = header.fields
    if fields.e_phnum == 0:
        return ()
    if fields.e_phnum > PROGRAM_HEADER_LIMIT:
        raise FormatError(f"{fields.e_phnum} program headers; at most {PROGRAM_HEADER_LIMIT}")
    layout = header.structs.Elf_Phdr
    return _table(
        header, data, "program header", layout, fields.e_phoff, fields.e_phentsize, fields.e_phnum
    )


def section_headers(header: Header, data: Buffer) -> tuple[Any, ...]:
    """Return the section headers; `FormatError` when they are too many or outside the file."""
    fields = header.fields
    if fields.e_shoff == 0:
        return ()
    if not 0 < fields.e_shnum <= SECTION_LIMIT:
        raise FormatError(f"{fields.e_shnum} section headers; 1 to {SECTION_LIMIT} can be read")
    layout = header.structs.Elf_Shdr
    return _table(
        header, data, "section header", layout, fields.e_shoff, fields.e_shentsize, fields.e_shnum
    )


def _extents(
    header: Header, programs: tuple[Any, ...], sections: tuple[Any, ...]
) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and name of every part of the file that no other part may share."""
    fields = header.fields
    yield 0, fields.e_ehsize, "the ELF header"
    if programs:
        size = fields.e_phnum * fields.e_phentsize
        yield fields.e_phoff, fields.e_phoff + size, "the program headers"
    if sections:
        size = fields.e_shnum * fields.e_shentsize
        yield fields.e_shoff, fields.e_shoff + size, "the section headers"
    for number, section in enumerate(sections):
        if section.sh_type not in NO_CONTENTS and section.sh_size:
            end = section.sh_offset + section.sh_size
            yield section.sh_offset, end, f"section {number}"


def extent(header: Header, programs: tuple[Any, ...], sections: tuple[Any, ...]) -> int:
    """Return the size of the ELF file in bytes as its headers and tables tell it."""
    ends = [end for _, end, _ in _extents(header, programs, sections)]
    return max(ends + [int(p.p_offset + p.p_filesz) for p in programs])


def check_extents(
    header: Header, programs: tuple[Any, ...], sections: tuple[Any, ...], size: int
) -> None:
    """Raise `FormatError` unless all parts lie within `size` bytes and none overlaps another."""
    if any(p.p_offset + p.p_filesz > size for p in programs):
        raise FormatError("truncated ELF file (a segment lies behind its end)")
    previous_end, previous = 0, ""
    for start, end, what in sorted(_extents(header, programs, sections)):
        if end > size:
            raise FormatError(f"truncated ELF file ({what} lies behind its end)")
        if start < previous_end:
            raise FormatError(f"damaged ELF file ({what} overlaps {previous})")
        previous_end, previous = end, what
