"""What is read from an ELF file, for every class and byte order."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from tests.image import elves
from tests.image.elves import CHACHA, GETRANDOM, Format
from verify.errors import InputError
from verify.image import Relocation, parse_elf

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = [Format(bits, little) for bits in (32, 64) for little in (True, False)]


@pytest.mark.parametrize("layout", FORMATS, ids=str)
def test_shared_object(layout: Format) -> None:
    data = elves.shared_object(layout=layout)
    elf = parse_elf(data, "x")
    assert (elf.machine, elf.bits, elf.little_endian) == (
        "EM_LOONGARCH",
        layout.bits,
        layout.little,
    )
    assert (elf.kind, elf.flags, elf.relocations) == ("shared", 0x43, ())
    assert elf.build_id == elves.BUILD_ID.hex()
    assert elf.linux_version == elves.VERSION
    assert elf.exports == (GETRANDOM, "__vdso_gettimeofday")
    (segment,) = elf.segments
    assert (segment.address, segment.executable, segment.writable) == (0, True, False)
    assert segment.data == data[: segment.end]
    start = data.index(elves.TEXT)
    symbols = {s.name: (s.address - start, s.size, s.is_function, s.exported) for s in elf.symbols}
    assert symbols == {
        GETRANDOM: (0, 16, True, True),
        "label": (4, 0, False, False),
        "__vdso_gettimeofday": (16, 16, True, True),
        CHACHA: (32, 32, True, False),
    }
    assert elf.getrandom is not None
    assert elf.read(elf.getrandom.address, 16) == elves.TEXT[:16]


@pytest.mark.parametrize("layout", FORMATS, ids=str)
def test_relocatable_object(layout: Format) -> None:
    elf = parse_elf(elves.relocatable_object(layout=layout), "x")
    assert (elf.kind, elf.machine) == ("relocatable", "EM_PPC64")
    sections = {s.name: s for s in elf.sections}
    assert [s.name for s in elf.sections] == [".text", ".rodata", ".text.other", ".data"]
    assert [(s.executable, s.writable) for s in elf.segments] == [
        (True, False),
        (False, False),
        (True, False),
        (False, True),
    ]
    for before, after in zip(elf.segments, elf.segments[1:], strict=False):
        assert after.address - before.end >= 0x1000
    text, other, data = (sections[name].address for name in (".text", ".text.other", ".data"))
    symbols = {s.name: s for s in elf.symbols}
    assert symbols.keys() == {CHACHA, "helper", "constants"}
    assert elf.read(symbols[CHACHA].address, 48) == elves.TEXT[16:]
    assert symbols["helper"].address == other
    assert elf.read(symbols["constants"].address, 16) == b"expand 32-byte k"
    assert elf.relocations == (
        Relocation(text + 20, 10, "elsewhere"),
        Relocation(text + 24, 6, ".rodata"),
        Relocation(text + 28, 1, ""),
        Relocation(other + 4, 11, "helper"),
        Relocation(data, 38, "constants"),
    )
    assert set(elf.unloaded) >= {".debug", ".symtab", ".rela.text"}


def test_read_and_text_contains() -> None:
    data = elves.shared_object()
    elf = parse_elf(data, "x")
    start, end = data.index(elves.TEXT), data.index(elves.TEXT) + len(elves.TEXT)
    assert [elf.text_contains(a) for a in (start - 1, start, end - 1, end)] == [
        False,
        True,
        True,
        False,
    ]
    limit = elf.segments[0].end
    assert elf.read(limit - 4, 4) == data[limit - 4 : limit]
    for address, size in [(limit - 3, 4), (limit, 1), (-1, 2), (1 << 64, 1), (0, -1)]:
        with pytest.raises(LookupError):
            elf.read(address, size)


@pytest.mark.parametrize(
    ("machine", "name"),
    [(elves.EM_AARCH64, "EM_AARCH64"), (elves.EM_S390, "EM_S390"), (0xFEED, "EM_65261")],
)
def test_every_machine_is_identified(machine: int, name: str) -> None:
    assert parse_elf(elves.shared_object(machine=machine), "x").machine == name


@pytest.mark.parametrize("path", elves.BINARIES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_our_binaries_as_pyelftools_reads_them(path: Path) -> None:
    elf = parse_elf(path.read_bytes(), str(path))
    with path.open("rb") as file:
        theirs = ELFFile(file)
        assert elf.machine == theirs["e_machine"]
        sections = {section.name: section for section in theirs.iter_sections()}
        expected = {
            (symbol.name, symbol["st_value"], symbol["st_size"])
            for table in sections.values()
            if isinstance(table, SymbolTableSection)
            for symbol in table.iter_symbols()
            if symbol["st_info"]["type"] in ("STT_FUNC", "STT_NOTYPE")
            and isinstance(symbol["st_shndx"], int)
            and symbol.name
        }
        text, note = sections[".text"], sections[".note.gnu.build-id"]
        assert expected
        found = {
            (s.name, s.descriptor.address if s.descriptor else s.address, s.size)
            for s in elf.symbols
        }
        assert expected <= found
        assert elf.read(text["sh_addr"], text["sh_size"]) == text.data()
        assert isinstance(note, NoteSection)
        assert elf.build_id == next(note.iter_notes())["n_desc"]
        assert elf.linux_version is None


def test_our_binaries_are_there() -> None:
    assert elves.BINARIES


# Offsets in the ELF header of the 64-bit class, in a section header and in the program header.
E_TYPE, E_EHSIZE, E_PHOFF, E_SHOFF, E_PHENTSIZE, E_PHNUM = 16, 52, 32, 40, 54, 56
E_SHENTSIZE, E_SHNUM, E_SHSTRNDX = 58, 60, 62
SH_NAME, SH_TYPE, SH_ADDR, SH_OFFSET, SH_SIZE, SH_LINK, SH_INFO = 0, 4, 16, 24, 32, 40, 44
SH_ADDRALIGN, SH_ENTSIZE = 48, 56
P_OFFSET, P_FILESZ, P_MEMSZ = 64 + 8, 64 + 32, 64 + 40
TEXT, NOTE, DYNSYM = 1, 2, 3
OBJECT_SYMTAB, OBJECT_RELA_TEXT = 7, 9


def patched(offset: int, layout: str, value: int, section: int | None = None) -> bytes:
    """A good shared object with one field changed, of a section header when `section` is given."""
    return elves.patched(elves.shared_object(), offset, layout, value, section)


def object_patched(offset: int, layout: str, value: int, section: int) -> bytes:
    """A good relocatable object with one field of a section header changed."""
    return elves.patched(elves.relocatable_object(), offset, layout, value, section)


def with_segments(*segments: tuple[int, int]) -> bytes:
    """A good shared object whose program headers load it at these addresses and sizes."""
    data = bytearray(elves.shared_object())
    struct.pack_into("<Q", data, E_PHOFF, len(data))
    struct.pack_into("<H", data, E_PHNUM, len(segments))
    for address, size in segments:
        data += struct.pack("<IIQQQQQQ", 1, 5, 0, address, address, size, size, 16)
    return bytes(data)


def symbol_patched(offset: int, layout: str, value: int) -> bytes:
    """A good shared object with a field of its first dynamic symbol changed."""
    data = elves.shared_object()
    (sections,) = struct.unpack_from("<Q", data, E_SHOFF)
    (table,) = struct.unpack_from("<Q", data, sections + 64 * DYNSYM + SH_OFFSET)
    return patched(table + 24 + offset, layout, value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated ELF file"),
        (b"\x7fEL", "truncated ELF file"),
        (b"\x7fELF" + bytes(60), "damaged ELF header (class, byte order or version)"),
        (patched(E_TYPE, "H", elves.ET_CORE), "ELF type ET_CORE"),
        (patched(E_TYPE, "H", 0x1234), "ELF type 4660"),
        (patched(E_EHSIZE, "H", 63), "damaged ELF header (its own size is wrong)"),
        (patched(E_PHENTSIZE, "H", 32), "size of a program header table entry"),
        (patched(E_SHENTSIZE, "H", 0), "size of a section header table entry"),
        (patched(E_PHNUM, "H", 0xFFFF), "65535 program headers; at most 128"),
        (patched(E_SHNUM, "H", 0xFF00), "65280 section headers; 1 to 4096"),
        (patched(E_SHNUM, "H", 0), "0 section headers; 1 to 4096"),
        (patched(E_SHNUM, "H", 4000), "the section header table lies behind its end"),
        (patched(E_SHOFF, "Q", 1 << 63), "the section header table lies behind its end"),
        (patched(E_SHOFF, "Q", 0), "no section headers"),
        (patched(E_SHOFF, "Q", 64), "overlaps"),
        (patched(E_PHOFF, "Q", 1 << 40), "the program header table lies behind its end"),
        (patched(E_SHSTRNDX, "H", 0xFFFF), "section names"),
        (patched(E_SHSTRNDX, "H", TEXT), "section names"),
        (patched(SH_NAME, "I", 1 << 31, TEXT), "a name is too long or outside its table"),
        (patched(SH_OFFSET, "Q", 1 << 50, TEXT), "section 1 lies behind its end"),
        (patched(SH_SIZE, "Q", 1 << 62, TEXT), "section 1 lies behind its end"),
        (patched(SH_SIZE, "Q", 80, TEXT), "section 2 overlaps section 1"),
        (patched(SH_ADDR, "Q", 0x4000, TEXT), "section '.text' is not where it is loaded"),
        (patched(SH_LINK, "I", TEXT, DYNSYM), "a symbol table without names"),
        (patched(SH_LINK, "I", 99, DYNSYM), "a symbol table without names"),
        (patched(SH_ENTSIZE, "Q", 0, DYNSYM), "size of a symbol"),
        (patched(SH_SIZE, "Q", 40, DYNSYM), "size of a symbol"),
        (patched(P_OFFSET, "Q", 1 << 40), "a segment lies behind its end"),
        (patched(P_FILESZ, "Q", 1 << 40), "a segment lies behind its end"),
        (patched(P_MEMSZ, "Q", 8), "larger in the file than in memory"),
        (patched(P_MEMSZ, "Q", 1 << 40), "segments of more than 16 MiB"),
        (with_segments((0x100, 0x200), (0, 0x101)), "segments overlap in memory"),
        (with_segments(((1 << 64) - 0x100, 0x101)), "a segment exceeds the address space"),
        (with_segments(), "section '.text' is not where it is loaded"),
        (patched(SH_TYPE, "I", 19, NOTE), "packed relative relocations"),
        (patched(SH_TYPE, "I", 4, NOTE), "size of a relocation"),
        (object_patched(SH_ADDRALIGN, "Q", 48, TEXT), "alignment of a section"),
        (object_patched(SH_ADDRALIGN, "Q", 1 << 40, TEXT), "alignment of a section"),
        (object_patched(SH_INFO, "I", 99, OBJECT_RELA_TEXT), "relocations for no section"),
        (object_patched(SH_LINK, "I", 99, OBJECT_RELA_TEXT), "relocations without symbols"),
        (object_patched(SH_LINK, "I", 0, OBJECT_RELA_TEXT), "a relocation against no symbol"),
        (object_patched(SH_SIZE, "Q", 48, OBJECT_SYMTAB), "a relocation against no symbol"),
        (patched(64 + 4, "I", 4), "without executable code"),
        (symbol_patched(0, "I", 0xFFFFFF), "a name is too long or outside its table"),
        (symbol_patched(6, "H", 0x7FFF), "is in no section"),
        (symbol_patched(8, "Q", 0x1000), "exceeds its section"),
        (symbol_patched(16, "Q", 1 << 63), "exceeds its section"),
    ],
)
def test_damaged_file(data: bytes, reason: str) -> None:
    with pytest.raises(InputError) as error:
        parse_elf(data, "some file")
    assert str(error.value).startswith("some file: ")
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_huge_file_is_refused() -> None:
    with pytest.raises(InputError, match="more than 16 MiB"):
        parse_elf(elves.shared_object() + bytes(17 << 20), "x")


def test_too_many_symbols_are_refused() -> None:
    with pytest.raises(InputError, match="40001 symbols; at most 32768"):
        parse_elf(elves.shared_object(exports=("a",) * 40_000, local=False), "x")


def test_relocations_of_a_shared_object_count_from_address_zero() -> None:
    layout = Format()
    entries = layout.relocation(0x80, 0, 3, 0) + layout.relocation(0x4000, 0, 3, 0)
    parts = [
        elves.Part(".text", elves.SHT_PROGBITS, elves.ALLOC | elves.EXEC, elves.TEXT),
        elves.Part(".rela", elves.SHT_RELA, elves.ALLOC, entries, entry_size=24),
    ]
    elf = parse_elf(elves.write(elves.ET_DYN, elves.EM_LOONGARCH, parts), "x")
    assert elf.relocations == (Relocation(0x80, 3, ""),)


def test_quadratic_names_are_refused() -> None:
    """Many symbols sharing one long name would unpack to gigabytes."""
    data = elves.shared_object(exports=("a" * 5000,))
    with pytest.raises(InputError, match="a name is too long"):
        parse_elf(data, "x")
