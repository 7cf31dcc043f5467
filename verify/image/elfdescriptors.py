"""The function descriptors of PowerPC 64's ELFv1.

"64-bit PowerPC ELF Application Binary Interface Supplement 1.9", section 3.2.5: a function's symbol
is the address of a descriptor in the section .opd: entry point, TOC base, environment pointer, each
a doubleword. Section 4.5.1 gives the relocations. A linker may leave the environment out.
"""

from verify.errors import FormatError
from verify.image.elf import Descriptor
from verify.image.elfheader import parse
from verify.image.elfsections import SectionHeader, Sections
from verify.image.elfsymbols import RELOCATION_LIMIT, SYMBOL_TABLES

SECTION = ".opd"
DESCRIPTOR_LIMIT = 32768
_WORD = 8
_VERSION, _ELFV2 = 3, 2
R_PPC64_RELATIVE, R_PPC64_ADDR64 = 22, 38


def descriptors(sections: Sections) -> dict[int, Descriptor]:
    """The descriptors by their addresses: every place in .opd whose entry point is in the text."""
    header = sections.header
    if header.machine != "EM_PPC64" or header.fields.e_flags & _VERSION == _ELFV2:
        return {}
    section = next((s for s in sections.headers if s.name == SECTION and s.in_memory), None)
    if section is None:
        return {}
    if section.size // _WORD > DESCRIPTOR_LIMIT:
        raise FormatError(f"function descriptors of more than {DESCRIPTOR_LIMIT} doublewords")
    order = "little" if header.little_endian else "big"
    contents = sections.contents(section)
    words: dict[int, int | None] = {
        section.address + at: int.from_bytes(contents[at : at + _WORD], order)  # type: ignore[arg-type]
        for at in range(0, section.size - _WORD + 1, _WORD)
    }
    words |= _relocated(sections, section)
    text = [s for s in sections.headers if s.in_memory and s.executable]
    return {
        address: Descriptor(address, code, words.get(address + _WORD))
        for address, code in words.items()
        if code is not None and any(s.address <= code < s.address + s.size for s in text)
    }


def _relocated(sections: Sections, opd: SectionHeader) -> dict[int, int | None]:
    """The doublewords of .opd that are relocated: their values in the image as it is laid out here,
    None where that does not tell."""
    layout = sections.header.structs.Elf_Rela
    relocatable = sections.kind == "relocatable"
    found: dict[int, int | None] = {}
    for section in sections.headers:
        if section.type != "SHT_RELA" or not section.has_contents:
            continue
        if relocatable and sections.headers[section.fields.sh_info] is not opd:
            continue
        base = opd.address if relocatable else 0
        for entry in sections.entries(section, layout, RELOCATION_LIMIT, "relocation"):
            address = base + entry.r_offset
            if not opd.address <= address < opd.address + opd.size:
                continue
            if entry.r_info_type == R_PPC64_RELATIVE:
                found[address] = entry.r_addend
            elif entry.r_info_type == R_PPC64_ADDR64:
                found[address] = _symbol(sections, section, entry.r_info_sym, entry.r_addend)
            else:
                found[address] = None
    return found


def _symbol(sections: Sections, section: SectionHeader, number: int, addend: int) -> int | None:
    """The address of a symbol in the image, plus an addend; None where it is not in the image."""
    table = sections.of_type(section.fields.sh_link, *SYMBOL_TABLES)
    layout = sections.header.structs.Elf_Sym
    size = layout.sizeof()
    if table is None or (number + 1) * size > table.size:
        raise FormatError("damaged ELF file (a relocation against no symbol)")
    entry = parse(layout, sections.contents(table), number * size)
    index = entry.st_shndx
    if not isinstance(index, int) or index >= len(sections.headers):
        return None
    base = sections.headers[index].address if sections.kind == "relocatable" else 0
    return int(base + entry.st_value + addend)
