"""An ELF file reduced to what a proof needs: bytes at addresses, symbols, relocations."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

SYMBOL = "__arch_chacha20_blocks_nostack"
"""The kernel's name for the function under proof."""
GETRANDOM_NAMES = ("__vdso_getrandom", "__kernel_getrandom")
VDSO_PREFIXES = ("__vdso_", "__kernel_")

Kind = Literal["shared", "relocatable", "executable"]


@dataclass(frozen=True)
class Segment:
    """Bytes at an address, with their permissions; as long as they are in memory."""

    address: int
    data: bytes
    executable: bool
    writable: bool

    @property
    def end(self) -> int:
        """The first address behind the segment."""
        return self.address + len(self.data)


@dataclass(frozen=True)
class Section:
    """An allocated section: name, address, size in bytes, and whether it holds instructions."""

    name: str
    address: int
    size: int
    executable: bool


@dataclass(frozen=True)
class Descriptor:
    """A function descriptor of PowerPC's ELFv1: where it is, the address of the code, and the TOC
    base that the function's caller puts into r2, None where the file does not tell."""

    address: int
    code: int
    toc: int | None


@dataclass(frozen=True)
class Symbol:
    """A symbol defined in some section; `exported` when the dynamic symbol table has it.

    `address` is that of the code for a function with a descriptor.
    """

    name: str
    address: int
    size: int
    is_function: bool
    exported: bool
    descriptor: Descriptor | None = None


@dataclass(frozen=True)
class Relocation:
    """A relocation inside loaded bytes: its address, type number and symbol name or ""."""

    address: int
    type: int
    symbol: str


@dataclass(frozen=True)
class Elf:
    """One ELF file.

    `machine` is the name of `e_machine` ("EM_LOONGARCH"; "EM_" and the number when it has none),
    `flags` is `e_flags`. A shared object has one segment per PT_LOAD header, at its virtual
    address. A relocatable object has one per allocated section with contents, each laid out at an
    address of its own, and its symbols and relocations carry those addresses. `build_id` is in
    hexadecimal, or "". `segments`, `sections` and function `descriptors` are sorted by address,
    `symbols` by address and name. `unloaded` are the names of the other sections, of which nothing
    else is known. `linux_version` is that of the kernel whose vDSO it is, None where no note has
    it.
    """

    machine: str
    bits: int
    little_endian: bool
    kind: Kind
    flags: int
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]
    build_id: str
    unloaded: tuple[str, ...] = ()
    descriptors: tuple[Descriptor, ...] = ()
    linux_version: tuple[int, int, int] | None = None

    def read(self, address: int, size: int) -> bytes:
        """Return the `size` bytes at `address`; `LookupError` unless one segment has them all."""
        for segment in self.segments:
            if segment.address <= address and 0 <= size <= segment.end - address:
                start = address - segment.address
                return segment.data[start : start + size]
        raise LookupError(f"no {size} bytes at {address:#x} in the image")

    def text_contains(self, address: int) -> bool:
        """Tell whether `address` is in a section that holds instructions."""
        return any(
            s.executable and s.address <= address < s.address + s.size for s in self.sections
        )

    @property
    def has_chacha20(self) -> bool:
        """Whether it has the function under proof, by its name."""
        return any(s.name == SYMBOL and s.is_function for s in self.symbols)

    @property
    def exports(self) -> tuple[str, ...]:
        """The names of the exported functions of a vDSO, sorted."""
        return tuple(
            sorted(s.name for s in self.symbols if s.exported and s.name.startswith(VDSO_PREFIXES))
        )

    @property
    def getrandom(self) -> Symbol | None:
        """The exported getrandom function, or None."""
        return next((s for s in self.symbols if s.exported and s.name in GETRANDOM_NAMES), None)


@dataclass(frozen=True)
class Image:
    """An ELF file found in an input.

    `name` is short and unique among those found together; `path` says how it was reached,
    outermost first. `running` says that it is from the memory of a process: the kernel has already
    patched it.
    """

    name: str
    data: bytes
    path: tuple[str, ...]
    elf: Elf
    running: bool = False

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of `data` in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()
