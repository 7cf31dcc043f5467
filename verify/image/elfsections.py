"""The sections of an ELF file: their names, contents and the addresses they are given."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verify.errors import FormatError
from verify.image.compression import MIB
from verify.image.elf import Kind
from verify.image.elfheader import NO_CONTENTS, Header, parse

MEMORY_LIMIT = 16 * MIB
NAME_LIMIT = 1024

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
# Sections of a relocatable object are laid out from here, with unmapped gaps between them, so
# that an access beside one section never lands in another.
LAYOUT_START = 0x10000
LAYOUT_GAP = 0x1000


@dataclass(frozen=True)
class SectionHeader:
    """A section header with its name and the address its contents are given."""

    name: str
    address: int
    fields: Any

    @property
    def type(self) -> str | int:
        """The name of `sh_type`, or its number when it has none."""
        kind: str | int = self.fields.sh_type
        return kind

    @property
    def size(self) -> int:
        """The size in bytes."""
        return int(self.fields.sh_size)

    @property
    def in_memory(self) -> bool:
        """Whether the section has contents that are loaded."""
        return bool(self.fields.sh_flags & SHF_ALLOC) and self.has_contents

    @property
    def executable(self) -> bool:
        """Whether the section holds instructions."""
        return bool(self.fields.sh_flags & SHF_EXECINSTR)

    @property
    def writable(self) -> bool:
        """Whether the section may be written."""
        return bool(self.fields.sh_flags & SHF_WRITE)

    @property
    def has_contents(self) -> bool:
        """Whether the section takes up bytes of the file."""
        return self.fields.sh_type not in NO_CONTENTS and self.fields.sh_size > 0


@dataclass(frozen=True)
class Sections:
    """All sections of one file, whose extents have been checked against `data`."""

    data: bytes
    header: Header
    kind: Kind
    headers: tuple[SectionHeader, ...]

    def contents(self, section: SectionHeader) -> bytes:
        """Return the bytes of a section in the file."""
        start = section.fields.sh_offset
        return self.data[start : start + section.size] if section.has_contents else b""

    def of_type(self, index: int, *types: str) -> SectionHeader | None:
        """Return section number `index` when it exists and is of one of `types`."""
        if index < len(self.headers) and self.headers[index].type in types:
            return self.headers[index]
        return None

    def entries(self, section: SectionHeader, layout: Any, limit: int, what: str) -> Iterator[Any]:
        """Yield the structures `layout` in a table; `FormatError` for more than `limit`."""
        size = layout.sizeof()
        count, rest = divmod(section.size, size)
        if section.fields.sh_entsize != size or rest:
            raise FormatError(f"damaged ELF file (size of a {what})")
        if count > limit:
            raise FormatError(f"{count} {what}s; at most {limit} can be read")
        start = section.fields.sh_offset
        return (parse(layout, self.data, start + i * size) for i in range(count))


def string(data: bytes, table: Any, offset: int) -> str:
    """Return the string at `offset` in the string table with the section header `table`."""
    start, end = table.sh_offset + offset, table.sh_offset + table.sh_size
    stop = data.find(b"\0", start, min(end, start + NAME_LIMIT + 1))
    if stop < 0:
        raise FormatError("damaged ELF file (a name is too long or outside its table)")
    return data[start:stop].decode("utf-8", "backslashreplace")


def named_sections(data: bytes, header: Header, kind: Kind, raw: tuple[Any, ...]) -> Sections:
    """Name the sections with the headers `raw`, and lay out those of a relocatable object."""
    index = header.fields.e_shstrndx
    if index >= len(raw) or raw[index].sh_type != "SHT_STRTAB":
        raise FormatError("damaged ELF file (section names)")
    names = [string(data, raw[index], fields.sh_name) for fields in raw]
    addresses = _layout(raw) if kind == "relocatable" else [fields.sh_addr for fields in raw]
    headers = map(SectionHeader, names, addresses, raw)
    return Sections(data, header, kind, tuple(headers))


def _layout(raw: tuple[Any, ...]) -> list[int]:
    """Return an address for each section of a relocatable object; 0 when it is not loaded."""
    addresses, position = [], LAYOUT_START
    for fields in raw:
        address = 0
        if SectionHeader("", 0, fields).in_memory:
            alignment = fields.sh_addralign
            if alignment > MEMORY_LIMIT or alignment & (alignment - 1):
                raise FormatError("damaged ELF file (alignment of a section)")
            alignment = max(alignment, LAYOUT_GAP)
            address = -(-position // alignment) * alignment
            position = address + fields.sh_size + LAYOUT_GAP
        addresses.append(address)
    return addresses
