"""From any file to the vDSO images in it."""

import hashlib
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from verify.errors import FormatError, InputError, reason
from verify.image import deb, elfheader
from verify.image.compression import MIB, Budget, Buffer, budget_for, decompress, recognise
from verify.image.elf import Elf, Image
from verify.image.elfparse import KINDS, parse_bytes
from verify.image.kernel import BOOT_IMAGES, boot_image, packed_kernels
from verify.image.running import Running

INPUT_LIMIT = 1024 * MIB
UNPACKED_LIMIT = 512 * MIB
DEPTH_LIMIT = 6
# A vDSO has some ten kilobytes, some hundred with its debugging sections.
VDSO_LIMIT = 4 * MIB
# Places where the magic number stands; parsed are only those with a header of a shared object.
MAGIC_LIMIT = 65536
PARSE_LIMIT = 256
STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Input:
    """The contents of an input: `source` is the file's name for the user, `name` a short one.

    `running` says that it is the memory of a process.
    """

    source: str
    name: str
    data: bytes
    running: bool = False

    @property
    def sha256(self) -> str:
        """The SHA-256 of `data` in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass
class _Search:
    """What one input file has led to so far."""

    budget: Budget
    found: list[tuple[bytes, tuple[str, ...], Elf]] = field(default_factory=list)
    without_getrandom: list[tuple[str, ...]] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def file(self, data: Buffer, trail: tuple[str, ...]) -> None:
        """Search `data`, which must be of a known format."""
        if len(trail) > DEPTH_LIMIT:
            raise FormatError("containers nested too deeply")
        boot = boot_image(data)
        compression = recognise(data)
        if data.startswith(elfheader.MAGIC):
            self._elf(data, trail)
        elif data.startswith(deb.MAGIC):
            description, content = deb.kernel(data)
            self.file(content, (*trail, description))
        elif boot is not None:
            if not (boot.raw and self._embedded(data, (*trail, boot.name))):
                for description, payload in boot.payload(data, self.budget):
                    self._payload(payload, (*trail, description))
        elif compression is not None:
            unpacked = decompress(compression, memoryview(data), self.budget)
            self.file(unpacked, (*trail, compression.name))
        else:
            known = ", ".join(image.name for image in BOOT_IMAGES)
            raise FormatError(f"neither ELF nor a known kernel image ({known}) nor a .deb package")

    def _payload(self, data: Buffer, trail: tuple[str, ...]) -> None:
        """Search what a boot image has unpacked: a kernel without header, or another container."""
        if not self._embedded(data, trail) and (boot_image(data) or recognise(data)):
            self.file(data, trail)

    def _elf(self, data: Buffer, trail: tuple[str, ...]) -> None:
        header = elfheader.read_header(data)
        if header.kind not in KINDS:
            raise FormatError(f"neither an object nor a shared object (ELF type {header.kind})")
        if header.kind == "ET_REL":
            self.found.append((bytes(data), trail, parse_bytes(bytes(data))))
            return
        programs = elfheader.program_headers(header, data)
        sections = elfheader.section_headers(header, data)
        elfheader.check_extents(header, programs, sections, len(data))
        if header.kind == "ET_DYN" and len(data) <= VDSO_LIMIT:
            elf = parse_bytes(bytes(data))
            if elf.exports:
                self._vdso(bytes(data), trail, elf)
                return
            if elf.has_chacha20:
                # What a linker makes of the function alone.
                self.found.append((bytes(data), trail, elf))
                return
        if not self._embedded(data, trail):
            for description, payload in packed_kernels(data, self.budget):
                self._payload(payload, (*trail, description))

    def _vdso(self, data: bytes, trail: tuple[str, ...], elf: Elf) -> None:
        if elf.getrandom is None:
            self.without_getrandom.append(elf.exports)
        elif all(data != other for other, _, _ in self.found):
            self.found.append((data, trail, elf))

    def _embedded(self, data: Buffer, trail: tuple[str, ...]) -> bool:
        """Collect the vDSOs that stand in `data` uncompressed; tell whether there was one."""
        seen = False
        for offset, size in _shared_objects(data):
            content = bytes(data[offset : offset + size])
            try:
                elf = parse_bytes(content)
            except FormatError as error:
                # Perhaps a chance match, or an object that is no vDSO.
                self.damaged.append(f"ELF at {offset:#x}: {error}")
                continue
            if elf.kind == "shared" and elf.exports:
                seen = True
                self._vdso(content, (*trail, f"ELF at {offset:#x}"), elf)
        return seen


def _shared_objects(data: Buffer) -> Iterator[tuple[int, int]]:
    """Yield offset and size of what has the header of a small ELF shared object inside `data`."""
    position, magics, parsed, end = 0, 0, 0, 0
    while (position := data.find(elfheader.MAGIC, position + 1)) >= 0:
        magics += 1
        if magics > MAGIC_LIMIT:
            raise FormatError(f"more than {MAGIC_LIMIT} ELF files inside")
        if position < end or data[position + 16 : position + 18] not in (b"\3\0", b"\0\3"):
            continue
        parsed += 1
        if parsed > PARSE_LIMIT:
            raise FormatError(f"more than {PARSE_LIMIT} ELF shared objects inside")
        try:
            header = elfheader.read_header(data, position)
            programs = elfheader.program_headers(header, data)
            sections = elfheader.section_headers(header, data)
            size = elfheader.extent(header, programs, sections)
        except FormatError:
            continue
        if size <= VDSO_LIMIT and position + size <= len(data):
            yield position, size
            end = position + size


def _images(search: _Search, own_name: str) -> tuple[Image, ...]:
    """Name what was found: after the file itself, or "vdso" with what tells them apart."""
    embedded = [len(trail) > 1 for _, trail, _ in search.found]
    bits = [elf.bits for _, _, elf in search.found]
    images = []
    for number, (data, trail, elf) in enumerate(search.found):
        if not embedded[number]:
            name = own_name
        elif len(bits) == 1:
            name = "vdso"
        elif len(set(bits)) == len(bits):
            name = f"vdso{elf.bits}"
        else:
            name = f"vdso.{number + 1}"
        images.append(Image(name, data, trail, elf))
    return tuple(images)


def images_in(data: Buffer, source: str, name: str = "vdso") -> tuple[Image, ...]:
    """Return the images in the file contents `data`, in the order in which they stand there.

    A shared object with a getrandom function or the function under proof and a relocatable object
    are returned as they are, named `name`; in a kernel, every vDSO with a getrandom
    function. Raises `InputError`, naming
    `source`, for everything else.
    """
    if not data:
        raise InputError(source, "empty file")
    search = _Search(budget_for(len(data), UNPACKED_LIMIT))
    try:
        search.file(data, (Path(source).name,))
    except FormatError as error:
        raise InputError(source, str(error)) from None
    if search.found:
        return _images(search, name)
    if search.without_getrandom:
        exports = "; ".join(", ".join(names) for names in search.without_getrandom)
        raise InputError(source, f"the vDSO has no getrandom function; it exports {exports}")
    damaged = "".join(f"; {reason}" for reason in search.damaged[:1])
    raise InputError(
        source, f"no vDSO inside: no ELF shared object that exports getrandom{damaged}"
    )


def _read(path: Path) -> bytes:
    if str(path) == STANDARD_INPUT:
        return sys.stdin.buffer.read(INPUT_LIMIT + 1)
    if stat.S_ISDIR(path.stat().st_mode):
        raise IsADirectoryError
    with path.open("rb") as file:
        return file.read(INPUT_LIMIT + 1)


def read_input(path: Path | str | Running) -> Input:
    """Return the contents of the file `path` ("-" is standard input), or of a process's vDSO.

    Raises `InputError` for what cannot be read.
    """
    if isinstance(path, Running):
        return Input(str(path), "vdso", path.read(), running=True)
    path = Path(path)
    source = "standard input" if str(path) == STANDARD_INPUT else str(path)
    try:
        data = _read(path)
    except FileNotFoundError:
        raise InputError(source, "no such file") from None
    except IsADirectoryError:
        raise InputError(source, "is a directory; give a file in it") from None
    except PermissionError:
        raise InputError(source, "permission denied") from None
    except (OSError, ValueError) as error:
        raise InputError(source, f"cannot be read ({reason(error)})") from None
    if len(data) > INPUT_LIMIT:
        raise InputError(source, f"larger than {INPUT_LIMIT // MIB} MiB, which is the limit")
    name = "vdso" if str(path) == STANDARD_INPUT else path.stem.partition(".so")[0]
    return Input(source, name or "vdso", data)


def images_of(content: Input) -> tuple[Image, ...]:
    """Return the images in an input, as `images_in` does."""
    if not content.running:
        return images_in(content.data, content.source, content.name)
    try:
        images = images_in(content.data, content.source, content.name)
    except InputError as error:
        hint = "Linux has getrandom in the vDSO from version 6.11 on"
        raise InputError(content.source, f"{error.reason}; {hint}") from None
    # The kernel has already patched these bytes: nothing is to be applied to them again.
    return tuple(replace(image, running=True) for image in images)


def open_images(path: Path | str | Running) -> tuple[Image, ...]:
    """Return the images in the file `path` ("-" is standard input) or in a process.

    Raises `InputError` for what cannot be read, or holds nothing usable.
    """
    return images_of(read_input(path))
