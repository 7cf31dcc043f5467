"""A directory like /proc/self, of a process that has another vDSO."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from verify.image import Running
from verify.image.running import AT_SYSINFO_EHDR

if TYPE_CHECKING:
    from pathlib import Path

ADDRESS = 0x1234_5000
PAGE = 0x1000


def process(
    directory: Path,
    image: bytes,
    *,
    address: int = ADDRESS,
    vector: bytes | None = None,
    maps: str | None = None,
) -> Running:
    """A process with the image in whole pages of memory, between two others."""
    size = -(-len(image) // PAGE) * PAGE
    if vector is None:
        vector = struct.pack("@6L", 6, 4096, AT_SYSINFO_EHDR, address, 0, 0)
    if maps is None:
        maps = (
            "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/program\n"
            f"{address - PAGE:08x}-{address:08x} r--p 00000000 00:00 0  [vvar]\n"
            f"{address:08x}-{address + size:08x} r-xp 00000000 00:00 0  [vdso]\n"
        )
    (directory / "auxv").write_bytes(vector)
    (directory / "maps").write_text(maps)
    with (directory / "mem").open("wb") as memory:
        memory.seek(address)
        memory.write(image.ljust(size, b"\0"))
    return Running(directory)
