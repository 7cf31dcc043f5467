"""Symbols, relocations and notes of an ELF file."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

from verify.errors import FormatError
from verify.image.elf import Descriptor, Relocation, Segment, Symbol
from verify.image.elfheader import parse
from verify.image.elfsections import SectionHeader, Sections, string

SYMBOL_LIMIT = 32768
RELOCATION_LIMIT = 32768
SYMBOL_TABLES = ("SHT_SYMTAB", "SHT_DYNSYM")
_BUILD_ID = (b"GNU\0", "NT_GNU_BUILD_ID")
_VERSION = (b"Linux\0", 0)
_VERSION_BYTES = 4
# Entries for the linker, not for a place in the program.
OTHER_SYMBOLS = ("STT_SECTION", "STT_FILE", "STT_TLS")


def _table(sections: Sections, section: SectionHeader) -> Iterator[tuple[str, Any]]:
    """Yield name and entry of every symbol of a table."""
    strings = sections.of_type(section.fields.sh_link, "SHT_STRTAB")
    if strings is None:
        raise FormatError("damaged ELF file (a symbol table without names)")
    layout = sections.header.structs.Elf_Sym
    for entry in sections.entries(section, layout, SYMBOL_LIMIT, "symbol"):
        yield string(sections.data, strings.fields, entry.st_name), entry


def symbols(
    sections: Sections, descriptors: Mapping[int, Descriptor] = MappingProxyType({})
) -> tuple[Symbol, ...]:
    """Return the symbols defined in a section, from both symbol tables, each once.

    A function's symbol at one of the descriptors is at the code that this describes.
    """
    found: dict[tuple[str, int, int, bool], bool] = {}
    for section in sections.headers:
        if section.type in SYMBOL_TABLES:
            for name, entry in _table(sections, section):
                key = _defined(sections, name, entry, descriptors)
                if key is not None:
                    found[key] = found.get(key, False) or section.type == "SHT_DYNSYM"
    defined = (_symbol(*key, exported, descriptors) for key, exported in found.items())
    return tuple(sorted(defined, key=lambda s: (s.address, s.name, s.size)))


def _symbol(
    name: str,
    address: int,
    size: int,
    is_function: bool,
    exported: bool,
    descriptors: Mapping[int, Descriptor],
) -> Symbol:
    descriptor = descriptors.get(address) if is_function else None
    code = descriptor.code if descriptor is not None else address
    return Symbol(name, code, size, is_function, exported, descriptor)


def _defined(
    sections: Sections, name: str, entry: Any, descriptors: Mapping[int, Descriptor]
) -> tuple[str, int, int, bool] | None:
    """Return name, address, size and whether it is a function; None for an undefined symbol."""
    index = entry.st_shndx  # a string when it is special: undefined, absolute, common
    if not name or not isinstance(index, int) or entry.st_info.type in OTHER_SYMBOLS:
        return None
    if index >= len(sections.headers):
        raise FormatError(f"damaged ELF file (symbol {name!r} is in no section)")
    section = sections.headers[index]
    is_function = entry.st_info.type == "STT_FUNC"
    address = entry.st_value + (section.address if sections.kind == "relocatable" else 0)
    place = address
    if is_function and address in descriptors:
        # The size is that of the code.
        place = descriptors[address].code
        section = next(s for s in sections.headers if s.in_memory and _holds(s, place))
    if is_function and not 0 <= place - section.address <= section.size - entry.st_size:
        raise FormatError(f"damaged ELF file (function {name!r} exceeds its section)")
    return name, address, entry.st_size, is_function


def _holds(section: SectionHeader, address: int) -> bool:
    return section.address <= address < section.address + section.size


def relocations(sections: Sections, segments: tuple[Segment, ...]) -> tuple[Relocation, ...]:
    """Return the relocations of loaded bytes, in the order of their addresses."""
    structs = sections.header.structs
    layouts = {"SHT_REL": structs.Elf_Rel, "SHT_RELA": structs.Elf_Rela}
    found: list[Relocation] = []
    for section in sections.headers:
        if section.type == "SHT_RELR" and section.has_contents:
            raise FormatError("packed relative relocations (SHT_RELR), which no vDSO has")
        base = _base(sections, section) if section.type in layouts else None
        if base is None:
            continue
        names = _targets(sections, section)
        layout = layouts[str(section.type)]
        for entry in sections.entries(section, layout, RELOCATION_LIMIT, "relocation"):
            address, number = base + entry.r_offset, entry.r_info_sym
            if any(s.address <= address < s.end for s in segments):
                if number >= max(len(names), 1):
                    raise FormatError("damaged ELF file (a relocation against no symbol)")
                name = names[number] if number else ""
                found.append(Relocation(address, entry.r_info_type, name))
    return tuple(sorted(found, key=lambda r: (r.address, r.type, r.symbol)))


def _base(sections: Sections, section: SectionHeader) -> int | None:
    """Return what the offsets of a relocation section count from; None when nothing is loaded."""
    if sections.kind != "relocatable":
        return 0
    if section.fields.sh_info >= len(sections.headers):
        raise FormatError("damaged ELF file (relocations for no section)")
    target = sections.headers[section.fields.sh_info]
    return target.address if target.in_memory else None


def _targets(sections: Sections, section: SectionHeader) -> list[str]:
    """Return the names, by number, that the relocations of `section` refer to."""
    if section.fields.sh_link == 0:
        return []
    table = sections.of_type(section.fields.sh_link, *SYMBOL_TABLES)
    if table is None:
        raise FormatError("damaged ELF file (relocations without symbols)")
    names = []
    for name, entry in _table(sections, table):
        index = entry.st_shndx
        of_section = entry.st_info.type == "STT_SECTION" and isinstance(index, int)
        if of_section and index < len(sections.headers):
            names.append(sections.headers[index].name)
        else:
            names.append(name)
    return names


def build_id(sections: Sections) -> str:
    """Return the NT_GNU_BUILD_ID note in hexadecimal, or "" when there is none."""
    found = (text for owner, kind, text in _notes(sections) if (owner, kind) == _BUILD_ID)
    return next(found, b"").hex()


def linux_version(sections: Sections) -> tuple[int, int, int] | None:
    """Return the version of Linux that an image was built with; None when no note has it.

    A vDSO's note of owner "Linux" and type 0 is LINUX_VERSION_CODE, 32 bits: the version in bits
    from 16 on, the patch level in bits 8 to 15, and the sublevel, at most 255 (Linux
    `include/linux/elfnote.h` and the top-level Makefile).
    """
    for owner, kind, text in _notes(sections):
        if (owner, kind) == _VERSION and len(text) == _VERSION_BYTES:
            order: Literal["little", "big"] = "little" if sections.header.little_endian else "big"
            code = int.from_bytes(text, order)
            return code >> 16, code >> 8 & 0xFF, code & 0xFF
    return None


def _notes(sections: Sections) -> Iterator[tuple[bytes, int | str, bytes]]:
    """Yield owner, type and description of every note."""
    layout = sections.header.structs.Elf_Nhdr
    for section in sections.headers:
        notes = sections.contents(section) if section.type == "SHT_NOTE" else b""
        position = 0
        while position + layout.sizeof() <= len(notes):
            note = parse(layout, notes, position)
            name = position + layout.sizeof()
            description = name + -(-note.n_namesz // 4) * 4
            end = description + note.n_descsz
            yield notes[name : name + note.n_namesz], note.n_type, notes[description:end]
            position = -(-end // 4) * 4
