"""From the bytes of an ELF file to `Elf`, with every number in it checked first."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verify.image.compression import MIB
from verify.image.elf import Elf, Kind, Relocation, Section, Segment, Symbol
from verify.image.elfheader import (
    NO_CONTENTS,
    Header,
    check_extents,
    parse,
    program_headers,
    read_header,
    section_headers,
)
from verify.image.errors import FormatError, InputError

FILE_LIMIT = 16 * MIB
MEMORY_LIMIT = 16 * MIB
SYMBOL_LIMIT = 32768
RELOCATION_LIMIT = 32768
NAME_LIMIT = 1024

SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
PF_X, PF_W = 1, 2
NT_GNU_BUILD_ID = 3
# Sections of a relocatable object are laid out from here, with unmapped gaps between them, so
# that an access beside one section never lands in another.
LAYOUT_START = 0x10000
LAYOUT_GAP = 0x1000

KINDS: dict[str, Kind] = {
    "ET_DYN": "shared",
    "ET_REL": "relocatable",
    "ET_EXEC": "executable",
}


def parse_elf(data: bytes, source: str) -> Elf:
    """Return what the ELF file `data` holds; raise `InputError` naming `source` when damaged."""
    try:
        return parse_bytes(data)
    except FormatError as error:
        raise InputError(source, str(error)) from None


def parse_bytes(data: bytes) -> Elf:
    """Return what the ELF file `data` holds; raise `FormatError` when it is damaged."""
    if len(data) > FILE_LIMIT:
        raise FormatError(f"ELF file of more than {FILE_LIMIT // MIB} MiB")
    header = read_header(data)
    kind = KINDS.get(header.kind)
    if kind is None:
        raise FormatError(f"neither an object nor a shared object (ELF type {header.kind})")
    return _Parser(data, header, kind).elf()


@dataclass(frozen=True)
class _SectionHeader:
    """A section header with its name and the address its contents are given."""

    name: str
    address: int
    fields: Any

    @property
    def allocated(self) -> bool:
        return bool(self.fields.sh_flags & SHF_ALLOC)

    @property
    def executable(self) -> bool:
        return bool(self.fields.sh_flags & SHF_EXECINSTR)

    @property
    def has_contents(self) -> bool:
        return self.fields.sh_type not in NO_CONTENTS and self.fields.sh_size > 0


class _Parser:
    """The steps of `parse_bytes`, over one file."""

    def __init__(self, data: bytes, header: Header, kind: Kind) -> None:
        self.data = data
        self.header = header
        self.kind = kind
        self.programs = program_headers(header, data)
        raw = section_headers(header, data)
        if not raw:
            raise FormatError("no section headers, so no symbols can be found")
        check_extents(header, self.programs, raw, len(data))
        self.sections = self._name_and_place(raw)
        self.segments = self._laid_out() if kind == "relocatable" else self._loaded()

    def elf(self) -> Elf:
        if not any(s.executable for s in self.segments):
            raise FormatError("ELF file without executable code")
        return Elf(
            machine=self.header.machine,
            bits=self.header.bits,
            little_endian=self.header.little_endian,
            kind=self.kind,
            flags=self.header.fields.e_flags,
            segments=self.segments,
            sections=tuple(
                sorted(
                    (
                        Section(s.name, s.address, s.fields.sh_size, s.executable)
                        for s in self.sections
                        if s.allocated and s.has_contents
                    ),
                    key=lambda s: s.address,
                )
            ),
            symbols=self._symbols(),
            relocations=self._relocations(),
            build_id=self._build_id(),
        )

    def _name_and_place(self, raw: tuple[Any, ...]) -> tuple[_SectionHeader, ...]:
        index = self.header.fields.e_shstrndx
        if index >= len(raw) or raw[index].sh_type != "SHT_STRTAB":
            raise FormatError("damaged ELF file (section names)")
        placed, position = [], LAYOUT_START
        for fields in raw:
            address = fields.sh_addr
            if self.kind == "relocatable":
                address = 0
                if fields.sh_flags & SHF_ALLOC and fields.sh_type not in NO_CONTENTS:
                    alignment = max(fields.sh_addralign, LAYOUT_GAP)
                    if alignment > MEMORY_LIMIT or alignment & (alignment - 1):
                        raise FormatError("damaged ELF file (alignment of a section)")
                    address = -(-position // alignment) * alignment
                    position = address + fields.sh_size + LAYOUT_GAP
            placed.append(_SectionHeader(self._string(raw[index], fields.sh_name), address, fields))
        return tuple(placed)

    def _contents(self, fields: Any) -> bytes:
        return self.data[fields.sh_offset : fields.sh_offset + fields.sh_size]

    def _string(self, table: Any, offset: int) -> str:
        start, end = table.sh_offset + offset, table.sh_offset + table.sh_size
        stop = self.data.find(b"\0", start, min(end, start + NAME_LIMIT + 1))
        if stop < 0:
            raise FormatError("damaged ELF file (a name is too long or outside its table)")
        return self.data[start:stop].decode("utf-8", "backslashreplace")

    def _laid_out(self) -> tuple[Segment, ...]:
        return tuple(
            Segment(
                s.address,
                self._contents(s.fields),
                s.executable,
                bool(s.fields.sh_flags & SHF_WRITE),
            )
            for s in self.sections
            if s.allocated and s.has_contents
        )

    def _loaded(self) -> tuple[Segment, ...]:
        loads = sorted(
            (p for p in self.programs if p.p_type == "PT_LOAD" and p.p_memsz),
            key=lambda p: p.p_vaddr,
        )
        if sum(p.p_memsz for p in loads) > MEMORY_LIMIT:
            raise FormatError(f"segments of more than {MEMORY_LIMIT // MIB} MiB")
        end = 0
        for load in loads:
            if load.p_filesz > load.p_memsz:
                raise FormatError("damaged ELF file (a segment larger in the file than in memory)")
            if load.p_vaddr < end:
                raise FormatError("damaged ELF file (segments overlap in memory)")
            end = load.p_vaddr + load.p_memsz
        if end > 1 << self.header.bits:
            raise FormatError("damaged ELF file (a segment exceeds the address space)")
        self._check_sections_loaded(loads)
        return tuple(
            Segment(
                p.p_vaddr,
                self.data[p.p_offset : p.p_offset + p.p_filesz].ljust(p.p_memsz, b"\0"),
                bool(p.p_flags & PF_X),
                bool(p.p_flags & PF_W),
            )
            for p in loads
        )

    def _check_sections_loaded(self, loads: list[Any]) -> None:
        """Symbols come from sections, bytes from segments: the two must agree."""
        for section in self.sections:
            fields = section.fields
            if section.allocated and section.has_contents:
                inside = any(
                    load.p_vaddr <= fields.sh_addr
                    and fields.sh_addr + fields.sh_size <= load.p_vaddr + load.p_filesz
                    and fields.sh_offset - load.p_offset == fields.sh_addr - load.p_vaddr
                    for load in loads
                )
                if not inside:
                    raise FormatError(
                        f"damaged ELF file (section {section.name!r} is not where it is loaded)"
                    )

    def _entries(self, fields: Any, layout: Any, limit: int, what: str) -> Iterator[Any]:
        size = layout.sizeof()
        count, rest = divmod(fields.sh_size, size)
        if fields.sh_entsize != size or rest:
            raise FormatError(f"damaged ELF file (size of a {what})")
        if count > limit:
            raise FormatError(f"{count} {what}s; at most {limit} can be read")
        return (parse(layout, self.data, fields.sh_offset + i * size) for i in range(count))

    def _symbol_table(self, section: _SectionHeader) -> Iterator[tuple[str, Any]]:
        """Yield name and entry of every symbol of a table."""
        fields = section.fields
        link = fields.sh_link
        if link >= len(self.sections) or self.sections[link].fields.sh_type != "SHT_STRTAB":
            raise FormatError("damaged ELF file (a symbol table without names)")
        strings = self.sections[link].fields
        for entry in self._entries(fields, self.header.structs.Elf_Sym, SYMBOL_LIMIT, "symbol"):
            yield self._string(strings, entry.st_name), entry

    def _symbols(self) -> tuple[Symbol, ...]:
        found: dict[tuple[str, int, int, bool], bool] = {}
        for section in self.sections:
            if section.fields.sh_type not in ("SHT_SYMTAB", "SHT_DYNSYM"):
                continue
            dynamic = section.fields.sh_type == "SHT_DYNSYM"
            for name, entry in self._symbol_table(section):
                key = self._defined(name, entry)
                if key is not None:
                    found[key] = found.get(key, False) or dynamic
        symbols = (Symbol(*key, exported=exported) for key, exported in found.items())
        return tuple(sorted(symbols, key=lambda s: (s.address, s.name, s.size)))

    def _defined(self, name: str, entry: Any) -> tuple[str, int, int, bool] | None:
        index = entry.st_shndx
        kind = entry.st_info.type
        if not name or not isinstance(index, int) or kind in ("STT_SECTION", "STT_FILE", "STT_TLS"):
            return None
        if index >= len(self.sections):
            raise FormatError(f"damaged ELF file (symbol {name!r} is in no section)")
        section = self.sections[index]
        is_function = kind == "STT_FUNC"
        address = entry.st_value + (section.address if self.kind == "relocatable" else 0)
        start = address - section.address
        if is_function and not 0 <= start <= section.fields.sh_size - entry.st_size:
            raise FormatError(f"damaged ELF file (function {name!r} exceeds its section)")
        return name, address, entry.st_size, is_function

    def _relocations(self) -> tuple[Relocation, ...]:
        structs = self.header.structs
        found: list[Relocation] = []
        for section in self.sections:
            kind = section.fields.sh_type
            if kind == "SHT_RELR" and section.has_contents:
                raise FormatError("packed relative relocations (SHT_RELR), which no vDSO has")
            if kind not in ("SHT_REL", "SHT_RELA"):
                continue
            base = self._relocated_base(section)
            if base is None:
                continue
            layout = structs.Elf_Rela if kind == "SHT_RELA" else structs.Elf_Rel
            names = self._linked_names(section)
            for entry in self._entries(section.fields, layout, RELOCATION_LIMIT, "relocation"):
                address = base + entry.r_offset
                if not any(s.executable and s.address <= address < s.end for s in self.segments):
                    continue
                number = entry.r_info_sym
                if number >= max(len(names), 1):
                    raise FormatError("damaged ELF file (a relocation against no symbol)")
                found.append(
                    Relocation(address, entry.r_info_type, names[number] if number else "")
                )
        return tuple(sorted(found, key=lambda r: (r.address, r.type, r.symbol)))

    def _relocated_base(self, section: _SectionHeader) -> int | None:
        """Return what the offsets of a relocation section count from; None for debug data."""
        if self.kind != "relocatable":
            return 0
        target = section.fields.sh_info
        if target >= len(self.sections):
            raise FormatError("damaged ELF file (relocations for no section)")
        placed = self.sections[target]
        return placed.address if placed.allocated and placed.has_contents else None

    def _linked_names(self, section: _SectionHeader) -> list[str]:
        """Return the names of the symbols that the relocations of `section` refer to."""
        link = section.fields.sh_link
        if link == 0:
            return []
        if link >= len(self.sections) or self.sections[link].fields.sh_type not in (
            "SHT_SYMTAB",
            "SHT_DYNSYM",
        ):
            raise FormatError("damaged ELF file (relocations without symbols)")
        names = []
        for name, entry in self._symbol_table(self.sections[link]):
            index = entry.st_shndx
            if entry.st_info.type == "STT_SECTION" and isinstance(index, int):
                names.append(self.sections[index].name if index < len(self.sections) else name)
            else:
                names.append(name)
        return names

    def _build_id(self) -> str:
        layout = self.header.structs.Elf_Nhdr
        for section in self.sections:
            if section.fields.sh_type != "SHT_NOTE":
                continue
            notes = self._contents(section.fields)
            position = 0
            while position + layout.sizeof() <= len(notes):
                note = parse(layout, notes, position)
                name = position + layout.sizeof()
                description = name + -(-note.n_namesz // 4) * 4
                end = description + note.n_descsz
                if notes[name : name + note.n_namesz] == b"GNU\0" and note.n_type in (
                    NT_GNU_BUILD_ID,
                    "NT_GNU_BUILD_ID",
                ):
                    return notes[description:end].hex()
                position = -(-end // 4) * 4
        return ""
