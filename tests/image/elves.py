"""Small ELF files written field by field, for all classes and byte orders (gABI, chapter 4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARIES = sorted((ROOT / "binaries").glob("*/*.so"))

EM_386, EM_PPC64, EM_S390, EM_AARCH64, EM_LOONGARCH = 3, 21, 22, 183, 258
ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = (
    1,
    2,
    3,
    4,
    7,
    8,
    11,
)
WRITE, ALLOC, EXEC = 1, 2, 4
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE = range(5)
SHN_ABS = 0xFFF1

TEXT = bytes(range(64))
BUILD_ID = bytes.fromhex("00112233445566778899aabbccddeeff00112233")
VERSION = (6, 12, 107)
CHACHA = "__arch_chacha20_blocks_nostack"
GETRANDOM = "__vdso_getrandom"


@dataclass(frozen=True)
class Format:
    """The class and byte order of an ELF file."""

    bits: int = 64
    little: bool = True

    @property
    def order(self) -> str:
        return "<" if self.little else ">"

    @property
    def header_size(self) -> int:
        return 64 if self.bits == 64 else 52

    def pack(self, layout: str, *values: int) -> bytes:
        """Pack `values`; "N" in the layout is an address, offset or size of this class."""
        return struct.pack(
            self.order + layout.replace("N", "Q" if self.bits == 64 else "I"), *values
        )

    def symbol(self, name: int, kind: int, section: int, value: int, size: int) -> bytes:
        info = 0x10 | kind
        if self.bits == 64:
            return self.pack("IBBHQQ", name, info, 0, section, value, size)
        return self.pack("IIIBBH", name, value, size, info, 0, section)

    def relocation(self, offset: int, symbol: int, kind: int, addend: int) -> bytes:
        info = symbol << 32 | kind if self.bits == 64 else symbol << 8 | kind
        return self.pack("NNN", offset, info, addend)

    def program_header(self, offset: int, size: int, memory_size: int, flags: int) -> bytes:
        if self.bits == 64:
            return self.pack("IIQQQQQQ", 1, flags, offset, offset, offset, size, memory_size, 0x10)
        return self.pack("IIIIIIII", 1, offset, offset, offset, size, memory_size, flags, 0x10)


@dataclass(frozen=True)
class Part:
    """A section to be written; `link` and `info` are names of sections or numbers."""

    name: str
    type: int
    flags: int
    data: bytes
    link: str = ""
    info: str | int = 0
    entry_size: int = 0
    alignment: int = 8


@dataclass(frozen=True)
class Sym:
    """A symbol to be written; `section` is a name or a special number."""

    name: str
    value: int = 0
    size: int = 0
    kind: int = STT_FUNC
    section: str | int = ".text"


def strings(names: list[str]) -> tuple[bytes, dict[str, int]]:
    """Return a string table and the offset of each name in it."""
    table, offsets = b"\0", {"": 0}
    for name in names:
        offsets.setdefault(name, len(table))
        table += name.encode() + b"\0"
    return table, offsets


def note(layout: Format, build_id: bytes = BUILD_ID) -> bytes:
    """Return the notes of a kernel, of which the second is its version, followed by a build id."""
    other = layout.pack("III", 6, 3, 7) + b"Linux\0\0\0" + b"abc\0"
    code = VERSION[0] << 16 | VERSION[1] << 8 | VERSION[2]
    version = layout.pack("III", 6, 4, 0) + b"Linux\0\0\0" + layout.pack("I", code)
    return other + version + layout.pack("III", 4, len(build_id), 3) + b"GNU\0" + build_id


def write(
    kind: int, machine: int, parts: list[Part], layout: Format = Format(), flags: int = 0
) -> bytes:
    """Return an ELF file with `parts` as its sections, loaded at address 0 when not relocatable."""
    names, name_offsets = strings([*(p.name for p in parts), ".shstrtab"])
    parts = [*parts, Part(".shstrtab", SHT_STRTAB, 0, names, alignment=1)]
    index = {part.name: number for number, part in enumerate(parts, 1)}
    program_headers = 0 if kind == ET_REL else 1
    program_size = len(layout.program_header(0, 0, 0, 0))
    body = bytearray(layout.header_size + program_headers * program_size)
    section_headers = bytes(40 if layout.bits == 32 else 64)
    loaded_end = 0
    for part in parts:
        body += bytes(-len(body) % part.alignment)
        offset = len(body)
        body += part.data
        if part.flags & ALLOC:
            loaded_end = len(body)
        section_headers += layout.pack(
            "IINNNNIINN",
            name_offsets[part.name],
            part.type,
            part.flags,
            offset if part.flags & ALLOC and kind != ET_REL else 0,
            offset,
            len(part.data),
            index.get(part.link, 0),
            part.info if isinstance(part.info, int) else index[part.info],
            part.alignment,
            part.entry_size,
        )
    body += bytes(-len(body) % 8)
    header = b"\x7fELF" + bytes([layout.bits // 32, 1 if layout.little else 2, 1]) + bytes(9)
    header += layout.pack(
        "HHINNNIHHHHHH",
        kind,
        machine,
        1,
        0,
        layout.header_size if program_headers else 0,
        len(body),
        flags,
        layout.header_size,
        program_size if program_headers else 0,
        program_headers,
        40 if layout.bits == 32 else 64,
        len(parts) + 1,
        len(parts),
    )
    body[: len(header)] = header
    if program_headers:
        load = layout.program_header(0, loaded_end, loaded_end, 5)
        body[len(header) : len(header) + len(load)] = load
    return bytes(body) + section_headers


def symbol_parts(
    table: str, kind: int, flags: int, symbols: list[Sym], order: list[str], layout: Format
) -> list[Part]:
    """Return a symbol table called `table` and its names; `order` lists the sections before."""
    text, offsets = strings([s.name for s in symbols])
    data = layout.symbol(0, 0, 0, 0, 0)
    for s in symbols:
        number = s.section if isinstance(s.section, int) else order.index(s.section) + 1
        data += layout.symbol(offsets[s.name], s.kind, number, s.value, s.size)
    names = table.replace("sym", "str")
    size = 24 if layout.bits == 64 else 16
    return [
        Part(table, kind, flags, data, link=names, info=1, entry_size=size),
        Part(names, SHT_STRTAB, flags, text, alignment=1),
    ]


def shared_object(
    exports: tuple[str, ...] = (GETRANDOM, "__vdso_gettimeofday"),
    machine: int = EM_LOONGARCH,
    layout: Format = Format(),
    flags: int = 0x43,
    text: bytes = TEXT,
    kind: int = ET_DYN,
    local: bool = True,
) -> bytes:
    """Return a shared object that exports functions of 16 bytes each from its text.

    With `local`, a symbol table holds the exports again and `CHACHA`, the second half of the text.
    """
    parts = [
        Part(".text", SHT_PROGBITS, ALLOC | EXEC, text, alignment=16),
        Part(".note", SHT_NOTE, ALLOC, note(layout), alignment=4),
    ]
    order = [p.name for p in parts]
    headers = layout.header_size + len(layout.program_header(0, 0, 0, 0))
    start = -(-headers // 16) * 16
    exported = [Sym(name, start + 16 * i, 16) for i, name in enumerate(exports)]
    parts += symbol_parts(".dynsym", SHT_DYNSYM, ALLOC, exported, order, layout)
    if local:
        inside = [
            *exported,
            Sym(CHACHA, start + len(text) // 2, len(text) // 2),
            Sym("label", start + 4, kind=STT_NOTYPE),
            Sym("constant", 42, kind=STT_NOTYPE, section=SHN_ABS),
            Sym("undefined", kind=STT_NOTYPE, section=0),
            Sym("file.c", kind=STT_FILE, section=SHN_ABS),
        ]
        parts += symbol_parts(".symtab", SHT_SYMTAB, 0, inside, order, layout)
    return write(kind, machine, parts, layout, flags)


def relocatable_object(machine: int = EM_PPC64, layout: Format = Format()) -> bytes:
    """Return an object with two text sections, data, and a relocation in each kind of section."""
    parts = [
        Part(".text", SHT_PROGBITS, ALLOC | EXEC, TEXT, alignment=16),
        Part(".rodata", SHT_PROGBITS, ALLOC, b"expand 32-byte k", alignment=16),
        Part(".text.other", SHT_PROGBITS, ALLOC | EXEC, TEXT[:8], alignment=4),
        Part(".data", SHT_PROGBITS, ALLOC | WRITE, bytes(8)),
        Part(".bss", SHT_NOBITS, ALLOC | WRITE, b""),
        Part(".debug", SHT_PROGBITS, 0, bytes(16)),
    ]
    order = [p.name for p in parts]
    symbols = [
        Sym("", kind=STT_SECTION, section=".rodata"),
        Sym(CHACHA, 16, 48),
        Sym("helper", 0, 8, section=".text.other"),
        Sym("constants", 0, 16, STT_OBJECT, ".rodata"),
        Sym("elsewhere", kind=STT_NOTYPE, section=0),
    ]
    parts += symbol_parts(".symtab", SHT_SYMTAB, 0, symbols, order, layout)
    size = 24 if layout.bits == 64 else 12
    for section, entries in {
        ".text": [(20, 5, 10), (24, 1, 6), (28, 0, 1)],
        ".text.other": [(4, 3, 11)],
        ".data": [(0, 4, 38)],
        ".debug": [(8, 2, 38)],
    }.items():
        data = b"".join(layout.relocation(offset, s, kind, 0) for offset, s, kind in entries)
        parts.append(
            Part(".rela" + section, SHT_RELA, 0, data, ".symtab", section, entry_size=size)
        )
    return write(ET_REL, machine, parts, layout)


def vmlinux(*embedded: bytes, size: int = 512 * 1024, machine: int = EM_PPC64) -> bytes:
    """Return an executable ELF file with `embedded` files in it at multiples of 4 KiB."""
    return write(
        ET_EXEC,
        machine,
        [
            Part(".head.text", SHT_PROGBITS, ALLOC | EXEC, TEXT),
            Part(".rodata", SHT_PROGBITS, ALLOC, kernel(*embedded, size=size), alignment=4096),
        ],
    )


def kernel(*embedded: bytes, size: int = 512 * 1024) -> bytes:
    """Return `size` bytes that do not compress to nothing, with `embedded` files in them."""
    filler = bytearray((i * i >> 7) & 0xFF for i in range(4096)) * (size // 4096)
    filler[:4096] = bytes(4096)
    position = 8192
    for data in embedded:
        filler[position : position + len(data)] = data
        position += -(-len(data) // 4096) * 4096
    return bytes(filler)


def patched(data: bytes, offset: int, layout: str, value: int, section: int | None = None) -> bytes:
    """Return a 64-bit little-endian file with the field at `offset` changed.

    The offset is in the header of section number `section` when one is given.
    """
    out = bytearray(data)
    if section is not None:
        (table,) = struct.unpack_from("<Q", data, 40)
        offset += table + 64 * section
    struct.pack_into("<" + layout, out, offset, value)
    return bytes(out)
