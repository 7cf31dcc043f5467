"""From the bytes of an ELF file to `Elf`, with every number in it checked first."""

from typing import Any

from verify.errors import FormatError, InputError
from verify.image import elfdescriptors, elfsymbols
from verify.image.compression import MIB
from verify.image.elf import Elf, Kind, Section, Segment
from verify.image.elfheader import check_extents, program_headers, read_header, section_headers
from verify.image.elfsections import MEMORY_LIMIT, Sections, named_sections

FILE_LIMIT = 16 * MIB
PF_X, PF_W = 1, 2

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
    programs = program_headers(header, data)
    raw = section_headers(header, data)
    if not raw:
        raise FormatError("no section headers, so no symbols can be found")
    check_extents(header, programs, raw, len(data))
    sections = named_sections(data, header, kind, raw)
    segments = _laid_out(sections) if kind == "relocatable" else _loaded(sections, programs)
    if not any(s.executable for s in segments):
        raise FormatError("ELF file without executable code")
    described = elfdescriptors.descriptors(sections)
    in_memory = (
        Section(s.name, s.address, s.size, s.executable) for s in sections.headers if s.in_memory
    )
    return Elf(
        machine=header.machine,
        bits=header.bits,
        little_endian=header.little_endian,
        kind=kind,
        flags=header.fields.e_flags,
        segments=segments,
        sections=tuple(sorted(in_memory, key=lambda s: s.address)),
        symbols=elfsymbols.symbols(sections, described),
        relocations=elfsymbols.relocations(sections, segments),
        build_id=elfsymbols.build_id(sections),
        linux_version=elfsymbols.linux_version(sections),
        descriptors=tuple(one for _, one in sorted(described.items())),
        unloaded=tuple(s.name for s in sections.headers if s.size and not s.in_memory),
    )


def _laid_out(sections: Sections) -> tuple[Segment, ...]:
    """Return the loaded sections of a relocatable object as segments."""
    return tuple(
        Segment(s.address, sections.contents(s), s.executable, s.writable)
        for s in sections.headers
        if s.in_memory
    )


def _loaded(sections: Sections, programs: tuple[Any, ...]) -> tuple[Segment, ...]:
    """Return the segments that the program headers load."""
    loads = sorted(
        (p for p in programs if p.p_type == "PT_LOAD" and p.p_memsz), key=lambda p: p.p_vaddr
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
    if end > 1 << sections.header.bits:
        raise FormatError("damaged ELF file (a segment exceeds the address space)")
    _check_sections_loaded(sections, loads)
    return tuple(
        Segment(
            p.p_vaddr,
            sections.data[p.p_offset : p.p_offset + p.p_filesz].ljust(p.p_memsz, b"\0"),
            bool(p.p_flags & PF_X),
            bool(p.p_flags & PF_W),
        )
        for p in loads
    )


def _check_sections_loaded(sections: Sections, loads: list[Any]) -> None:
    """Symbols come from sections and bytes from segments, so the two must agree."""
    for section in sections.headers:
        start = section.fields.sh_offset
        inside = any(
            load.p_offset <= start
            and start + section.size <= load.p_offset + load.p_filesz
            and start - load.p_offset == section.address - load.p_vaddr
            for load in loads
        )
        if section.in_memory and not inside:
            raise FormatError(
                f"damaged ELF file (section {section.name!r} is not where it is loaded)"
            )
