"""Function descriptors of PowerPC's ELFv1 are followed to the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.image import elves
from tests.image.elves import Part, Sym
from verify.errors import InputError
from verify.image import images_in
from verify.image.elf import Descriptor, Elf
from verify.image.elfparse import parse_elf

BINARIES = Path(__file__).resolve().parents[2] / "binaries"
BIG = elves.Format(little=False)
ADDR64, RELATIVE, TOC = 38, 22, 51
TEXT_SIZE = 64
E_FLAGS = 51
"""Offset of the last byte of e_flags of a big-endian file of 64 bits."""


def parsed(data: bytes) -> Elf:
    return parse_elf(data, "x")


def by_name(elf: Elf) -> dict[str, tuple[int, Descriptor | None]]:
    return {symbol.name: (symbol.address, symbol.descriptor) for symbol in elf.symbols}


@pytest.mark.parametrize("style", ["looped", "unrolled"])
def test_own_binaries(style: str) -> None:
    path = BINARIES / "powerpc64" / f"{style}.so"
    found = by_name(parsed(path.read_bytes()))
    for name in ("__kernel_getrandom", "__arch_chacha20_blocks_nostack"):
        code, none = found[f".{name}"]
        address, descriptor = found[name]
        assert none is None
        assert address == code
        assert descriptor is not None
        assert (descriptor.code, descriptor.toc) == (code, 0x8000)
    (image,) = images_in(path.with_name(f"{style}.stripped.so").read_bytes(), "x")
    assert image.elf.getrandom is not None
    assert image.elf.getrandom.address == found[".__kernel_getrandom"][0]


def test_elfv2_has_none() -> None:
    data = bytearray((BINARIES / "powerpc64" / "looped.so").read_bytes())
    data[E_FLAGS] = 2
    with pytest.raises(InputError, match="function '__kernel_getrandom' exceeds its section"):
        parsed(bytes(data))
    assert parsed((BINARIES / "powerpc64elfv2" / "looped.so").read_bytes()).descriptors == ()


def relocatable(
    entries: list[tuple[int, int, int, int]],
    opd: bytes = bytes(48),
    size: int = 32,
    kind: int = elves.ET_REL,
) -> bytes:
    """An object with two descriptors; `entries` are (offset, symbol, type, addend)."""
    parts = [
        Part(".text", elves.SHT_PROGBITS, elves.ALLOC | elves.EXEC, bytes(TEXT_SIZE), alignment=16),
        Part(".opd", elves.SHT_PROGBITS, elves.ALLOC | elves.WRITE, opd),
    ]
    symbols = [
        Sym("", kind=elves.STT_SECTION, section=".text"),
        Sym("first", 0, size, section=".opd"),
        Sym("second", 24, 8, section=".opd"),
        Sym("elsewhere", kind=elves.STT_NOTYPE, section=0),
    ]
    parts += elves.symbol_parts(".symtab", elves.SHT_SYMTAB, 0, symbols, [".text", ".opd"], BIG)
    data = b"".join(BIG.relocation(*entry) for entry in entries)
    parts.append(Part(".rela.opd", elves.SHT_RELA, 0, data, ".symtab", ".opd", entry_size=24))
    return elves.write(kind, elves.EM_PPC64, parts, BIG, 1)


BOTH = [(0, 1, ADDR64, 0), (8, 0, TOC, 0), (24, 1, ADDR64, 32), (32, 0, TOC, 0)]


def test_an_object_that_is_not_linked() -> None:
    elf = parsed(relocatable(BOTH))
    text, opd = (next(s for s in elf.sections if s.name == name) for name in (".text", ".opd"))
    assert by_name(elf) == {
        "first": (text.address, Descriptor(opd.address, text.address, None)),
        "second": (text.address + 32, Descriptor(opd.address + 24, text.address + 32, None)),
    }


@pytest.mark.parametrize(
    "entry",
    [(0, 4, ADDR64, 0), (0, 1, ADDR64, TEXT_SIZE), (0, 1, TOC, 0), (0, 0, RELATIVE, 8)],
    ids=["undefined", "behind the text", "of another type", "not in the text"],
)
def test_what_leads_to_no_code_is_none(entry: tuple[int, int, int, int]) -> None:
    elf = parsed(relocatable([entry, *BOTH[1:]], size=8))
    assert by_name(elf)["first"][1] is None
    assert not elf.text_contains(by_name(elf)["first"][0])
    assert by_name(elf)["second"][1] is not None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (relocatable([(0, 9, ADDR64, 0)]), "a relocation against no symbol"),
        (relocatable(BOTH, size=TEXT_SIZE + 1), "function 'first' exceeds its section"),
        (relocatable(BOTH, opd=bytes(1 << 19)), "function descriptors of more than 32768"),
    ],
    ids=["no symbol", "too long", "too many"],
)
def test_damaged(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parsed(data)


def test_contents_count_where_no_relocation_says_what_is_there() -> None:
    text = next(s for s in parsed(relocatable(BOTH)).sections if s.name == ".text")
    contents = (text.address + 16).to_bytes(8, "big") + bytes(40)
    relative = [(0, 0, RELATIVE, text.address + 48), (8, 0, RELATIVE, 0x1234)]
    unresolved, resolved = (
        parsed(relocatable([*entries, *BOTH[2:]], contents, 8)) for entries in ([], relative)
    )
    assert by_name(unresolved)["first"][0] == text.address + 16
    assert by_name(resolved)["first"][0] == text.address + 48
    assert resolved.descriptors[0].toc == 0x1234


def test_a_descriptor_that_says_something_else() -> None:
    data = bytearray((BINARIES / "powerpc64" / "looped.so").read_bytes())
    elf = parsed(bytes(data))
    (opd,) = (section for section in elf.sections if section.name == ".opd")
    code = by_name(elf)[".__kernel_getrandom"][0]
    data[opd.address : opd.address + 8] = (code + 4).to_bytes(8, "big")
    assert by_name(parsed(bytes(data)))["__kernel_getrandom"][0] == code + 4
