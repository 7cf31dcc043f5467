"""From an address to the line of the source, where the file itself has that debug information."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verify.target import Target


def source_line(target: Target, address: int) -> str:
    """ "file:line" of the instruction at an address of the image, or "".

    It is read from the DWARF line table (DWARF 5, section 6.2) of the target's file, if that is the
    image itself, linked, and still the same.
    """
    path = Path(target.source)
    if target.sha256 != target.image_sha256 or not path.is_file():
        return ""
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != target.sha256:
        return ""
    return line_in(data, address)


def line_in(data: bytes, address: int) -> str:
    """ "file:line" of an address in a linked ELF file; "" where it does not tell."""
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(io.BytesIO(data))
        if elf["e_type"] == "ET_REL" or not elf.has_dwarf_info():
            return ""
        for start, end, text in _rows(elf.get_dwarf_info()):
            if start <= address < end:
                return text
    except Exception:  # noqa: BLE001  # whatever a damaged table makes the library raise
        return ""
    return ""


def _rows(dwarf: Any) -> Iterator[tuple[int, int, str]]:
    """(first address, first address behind it, "file:line") of each row of all line tables."""
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        first = 1 if program.header["version"] < 5 else 0
        files = program.header["file_entry"]
        before = None
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if before is not None and state.address > before.address:
                name = files[before.file - first].name.decode(errors="replace")
                yield before.address, state.address, f"{name}:{before.line}"
            before = None if state.end_sequence else state
