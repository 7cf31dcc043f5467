"""Tables of alternatives are read as a whole with the one format that fits, or not at all."""

from __future__ import annotations

import dataclasses
import struct
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proving import BINARIES
from verify.alternatives import Unreadable, alternatives_in
from verify.arch import ARCHITECTURES, by_name
from verify.image import Elf, Relocation, Section, Segment, open_images

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.arch import Architecture
    from verify.target import Alternative

TABLE, REPLACEMENTS = 0x10_0000, 0x20_0000
NAMES = ("arm64", "loongarch64", "powerpc64le", "riscv64", "s390x", "x86_64")


@cache
def built(name: str) -> Elf:
    (image,) = open_images(BINARIES / name / "looped.so")
    return image.elf


def code(name: str) -> int:
    """The address of the function in the program."""
    return next(s.address for s in built(name).symbols if s.name.startswith("__arch_chacha20"))


def image(
    name: str, table: bytes, replacements: bytes = b"", section: str = ".altinstructions"
) -> Elf:
    """The program with a table, and with replacements at an address of their own."""
    elf = built(name)
    added = [(section, TABLE, table), (".altinstr_replacement", REPLACEMENTS, replacements)]
    return dataclasses.replace(
        elf,
        segments=(*elf.segments, *(Segment(at, data, True, False) for _, at, data in added)),
        sections=(*elf.sections, *(Section(n, at, len(data), False) for n, at, data in added)),
    )


def read(
    name: str, table: bytes, replacements: bytes = b"", section: str = ".altinstructions"
) -> tuple[Alternative, ...]:
    return alternatives_in(image(name, table, replacements, section), by_name(name))


def packed(name: str, layout: str, *values: int, at: int = TABLE) -> bytes:
    """An entry at an address that begins with two absolute addresses."""
    start, replacement, *rest = values
    order = "<" if built(name).little_endian else ">"
    return struct.pack(order + layout, start - at, replacement - at - 4, *rest)


ENTRIES: Mapping[str, tuple[str, str, tuple[int, ...], int, str, str]] = {
    # Architecture, layout, what follows the addresses, length, replacement, condition.
    "x86-64": ("x86_64", "iiIBB", (642, 5, 3), 5, "0faee8", "cpu feature 20*32+2"),
    "x86-64, not": ("x86_64", "iiIBB", (1 << 16 | 59, 5, 5), 5, "0f01f96690", "not cpu feature"),
    "x86-64, always": ("x86_64", "iiIBB", (3 * 32 + 21, 2, 2), 2, "9090", "always"),
    "x86-64, before 6.3": ("x86_64", "iiHBB", (59, 3, 3), 3, "0f01f9", "cpu feature 1*32+27"),
    "x86-64, before 5.13": ("x86_64", "iiHBBB", (59, 3, 1, 0), 3, "90", "cpu feature 1*32+27"),
    "arm64": ("arm64", "iiHBB", (26, 4, 4), 4, "1f2003d5", "capability 26"),
    "LoongArch": ("loongarch64", "iiHBB", (3, 8, 4), 8, "00004003", "cpu feature 3"),
    "RISC-V": ("riscv64", "iiHHI", (0, 4, 30), 4, "13000000", "cpu feature 30"),
    "RISC-V, vendor": ("riscv64", "iiHHI", (0x489, 4, 0), 4, "01000100", "erratum 0 of vendor 0x"),
    "s390x": ("s390x", "iiIB", (0x1000_0094, 6), 6, "c00400000000", "facility 148"),
    "s390x, other kinds": (
        "s390x",
        "iiIB",
        (0x2020_0007, 2),
        2,
        "07fe",
        "speculation mitigation 7",
    ),
}
NOPS = {"x86_64": ("6690", "660f1f440000", "0f1f00"), "loongarch64": ("00004003",)}


@pytest.mark.parametrize("name", ENTRIES)
def test_one_entry(name: str) -> None:
    arch, layout, rest, length, new, when = ENTRIES[name]
    start, data = code(arch), bytes.fromhex(new)
    (found,) = read(arch, packed(arch, layout, start, REPLACEMENTS, *rest), data)
    assert (found.address, found.refused) == (start, "")
    assert str(found.condition).startswith(when)
    assert len(found.code) == length
    assert found.code.startswith(data)
    padding = found.code[len(data) :].hex()
    assert padding in ("", *NOPS.get(arch, ()))


def test_several_entries_in_order() -> None:
    start = code("s390x")
    table = b"".join(
        packed("s390x", "iiIB", start + 2 * n, REPLACEMENTS, n, 2, at=TABLE + 13 * n)
        for n in range(3)
    )
    found = read("s390x", table, b"\x07\x00")
    assert [one.address - start for one in found] == [0, 2, 4]
    assert [str(one.condition) for one in found] == ["facility 0", "facility 1", "facility 2"]


def test_entries_for_one_address_with_several_lengths() -> None:
    """Some kernels of x86-64 extend the shorter one; all others write each as it is."""

    def table(name: str, layout: str, lengths: tuple[int, ...], *feature: int) -> bytes:
        size = struct.calcsize("<" + layout)
        return b"".join(
            packed(name, layout, code(name), REPLACEMENTS, *feature, n, n, at=TABLE + size * i)
            for i, n in enumerate(lengths)
        )

    for one in read("x86_64", table("x86_64", "iiIBB", (3, 5), 1), 5 * b"\x90"):
        assert one.refused == "another entry replaces more or less of the same code"
    assert not any(
        one.refused for one in read("x86_64", table("x86_64", "iiIBB", (5, 5), 1), 5 * b"\x90")
    )
    nops = 2 * bytes.fromhex("1f2003d5")
    assert not any(one.refused for one in read("arm64", table("arm64", "iiHBB", (4, 8), 1), nops))


def fixup(
    mask: int, value: int, *places: int, section: str = "__ftr_fixup", replacement: bytes = b""
) -> Alternative:
    table = struct.pack("<QQqqqq", mask, value, *(place - TABLE for place in places))
    (found,) = read("powerpc64le", table, replacement, section)
    return found


def test_fixups_of_powerpc() -> None:
    start, nop = code("powerpc64le"), bytes.fromhex("00000060")
    empty = (REPLACEMENTS, REPLACEMENTS)
    found = fixup(1 << 50, 1 << 50, start, start + 8, *empty)
    assert (found.address, found.code, found.refused) == (start, 2 * nop, "")
    assert str(found.condition) == "not cpu feature bit 50"
    found = fixup(6, 2, start, start + 4, *empty, section="__mmu_ftr_fixup")
    assert str(found.condition) == "not (mmu feature bit 1 and not mmu feature bit 2)"
    assert not found.condition.holds({"mmu feature bit 1": True, "mmu feature bit 2": False})
    assert found.condition.holds({"mmu feature bit 1": True, "mmu feature bit 2": True})
    # No processor can have a feature outside the mask.
    always = fixup(1, 2, start, start + 4, *empty, section="__fw_ftr_fixup")
    assert str(always.condition) == "always"
    other = bytes.fromhex("78000000")
    found = fixup(1, 0, start, start + 8, REPLACEMENTS, REPLACEMENTS + 4, replacement=other)
    assert (found.code, str(found.condition)) == (other + nop, "cpu feature bit 0")


def test_lwsync_of_powerpc() -> None:
    start = code("powerpc64le")
    (found,) = read("powerpc64le", struct.pack("<q", start - TABLE), section="__lwsync_fixup")
    assert (found.address, found.code) == (start, bytes.fromhex("ac04207c"))
    assert str(found.condition) == "lwsync"


BRANCHES = {
    "arm64": ("iiHBB", "00000014 01000054 000000b4 00000036 00000090 00000058"),
    "loongarch64": ("iiHBB", "00000050 00000058 00000040 00000048 0000001c 0000001a"),
    "powerpc64le": ("", "00000048 00008241 0400004c"),
    "riscv64": ("iiHHI", "6f000000 63000000 17000000 01a00100 01c00100 01e00100"),
    "x86_64": ("iiIBB", "eb009090 74009090 e2fe9090 8d050000"),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_instructions_that_depend_on_their_address_are_refused(name: str) -> None:
    layout, words = BRANCHES[name]
    start = code(name)
    for word in map(bytes.fromhex, words.split()):
        if name == "powerpc64le":
            found = fixup(1, 0, start, start + 4, REPLACEMENTS, REPLACEMENTS + 4, replacement=word)
        else:
            rest = (0, 4, 0) if name == "riscv64" else (1, 4, 4)
            (found,) = read(name, packed(name, layout, start, REPLACEMENTS, *rest), word)
        assert "depends on its address" in found.refused, word.hex()


REFUSED = {
    "arm64, callback": ("arm64", "iiHBB", (1 << 15 | 3, 4, 0), "a function of the kernel"),
    "arm64, shorter": ("arm64", "iiHBB", (3, 8, 4), "another length"),
    "x86-64, direct call": ("x86_64", "iiIBB", (2 << 16, 5, 5), "unknown flags 0x2"),
    "s390x, new kind": ("s390x", "iiIB", (0x1030_0000, 2), "unknown kind 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    arch, layout, rest, reason = REFUSED[name]
    (found,) = read(arch, packed(arch, layout, code(arch), REPLACEMENTS, *rest), 4 * b"\x07\x00")
    assert reason in found.refused


@pytest.mark.parametrize("name", NAMES)
def test_no_table(name: str) -> None:
    assert alternatives_in(built(name), by_name(name)) == ()


def damage(table: bytes, **changes: object) -> str:
    elf = dataclasses.replace(image("x86_64", table, b"\x90"), **changes)  # type: ignore[arg-type]
    with pytest.raises(Unreadable) as error:
        alternatives_in(elf, by_name("x86_64"))
    return str(error.value)


def test_unreadable_tables() -> None:
    start, limit = code("x86_64"), built("x86_64").sections[-1]
    end = limit.address + limit.size
    good = packed("x86_64", "iiIBB", start, REPLACEMENTS, 1, 1, 1)

    def bad(*values: int) -> str:
        return damage(good + packed("x86_64", "iiIBB", *values, at=TABLE + 14))

    assert "15 bytes are not entries of 14" in damage(good + b"\0")
    assert f"number 1 replaces 0 bytes at {start:#x}" in bad(start, REPLACEMENTS, 1, 0, 0)
    assert "not code of the image" in bad(REPLACEMENTS, REPLACEMENTS, 1, 1, 1)
    assert "not code of the image" in bad(end - 1, REPLACEMENTS, 1, 2, 1)
    assert "puts 2 bytes in place of 1" in bad(start, REPLACEMENTS, 1, 1, 2)
    assert "which the image lacks" in bad(start, REPLACEMENTS, 1, 2, 2)
    assert "which the image lacks" in bad(start, 0x7000_0000, 1, 1, 1)
    relocated = (Relocation(TABLE + 4, 2, ""),)
    assert "has unresolved relocations" in damage(good, relocations=relocated)
    assert "is not loaded" in damage(b"", unloaded=(".altinstructions",))
    assert "4097 entries, at most 4096" in damage(4097 * good)


def test_a_table_that_fits_two_formats_is_refused() -> None:
    """Six entries of 14 bytes are as long as seven of 12."""
    start = code("x86_64")
    new = b"".join(
        packed("x86_64", "iiIBB", start, REPLACEMENTS, 1, 1, 1, at=TABLE + 14 * n) for n in range(6)
    )
    assert len(read("x86_64", new, b"\x90")) == 6
    old = b"".join(
        packed("x86_64", "iiHBB", start, REPLACEMENTS, 1, 1, 1, at=TABLE + 12 * n) for n in range(7)
    )
    assert len(read("x86_64", old, b"\x90")) == 7
    architecture = by_name("x86_64")
    assert architecture.patching is not None
    table = architecture.patching.tables[0]
    twin = dataclasses.replace(table.layouts[0], constant=b"\x90")
    ambiguous = dataclasses.replace(
        architecture,
        patching=dataclasses.replace(
            architecture.patching,
            tables=(dataclasses.replace(table, layouts=(table.layouts[0], twin)),),
        ),
    )
    with pytest.raises(Unreadable, match="can be read in several ways"):
        alternatives_in(image("x86_64", new, b"\x91"), ambiguous)


def section_of(architecture: Architecture) -> str:
    assert architecture.patching is not None
    return architecture.patching.tables[0].section


@given(st.sampled_from(NAMES), st.binary(max_size=200))
def test_any_bytes_are_read_whole_or_refused(name: str, table: bytes) -> None:
    check(name, table)


@given(st.sampled_from(list(ENTRIES)), st.data())
def test_any_damage_is_read_whole_or_refused(name: str, data: st.DataObject) -> None:
    arch, layout, rest, _, _, _ = ENTRIES[name]
    entry = bytearray(packed(arch, layout, code(arch), REPLACEMENTS, *rest))
    for _ in range(data.draw(st.integers(1, 3))):
        entry[data.draw(st.integers(0, len(entry) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(entry)))
    check(arch, data.draw(st.sampled_from((bytes(entry), bytes(entry[:cut]), bytes(entry) * 2))))


def check(name: str, table: bytes) -> None:
    """Every byte of the table belongs to an alternative that lies in code, or it is Unreadable."""
    architecture = by_name(name)
    section = section_of(architecture)
    elf = image(name, table, bytes(range(64)), section)
    try:
        found = alternatives_in(elf, architecture)
    except Unreadable:
        return
    assert architecture.patching is not None
    sizes = {len(found) * layout.size for layout in architecture.patching.tables[0].layouts}
    assert len(table) in sizes
    for one in found:
        assert one.code
        assert any(
            s.executable and s.address <= one.address and one.end <= s.address + s.size
            for s in elf.sections
        )


def test_every_architecture_says_how_it_is_patched() -> None:
    for architecture in ARCHITECTURES:
        patching = architecture.patching
        if patching is not None:
            assert patching.tables
            assert list(patching.nops) == sorted(patching.nops, key=len, reverse=True)
            assert len(patching.nops[-1]) == architecture.instruction_alignment
            for nop in patching.nops:
                assert architecture.instruction_length(nop.ljust(16, b"\0")) == len(nop)
                assert not patching.relocated(nop.ljust(16, b"\0"))
