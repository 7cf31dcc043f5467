"""The vDSO that the kernel has mapped into a process."""

from __future__ import annotations

import platform
import struct
from dataclasses import dataclass
from pathlib import Path

from verify.errors import InputError, reason

AT_NULL, AT_SYSINFO_EHDR = 0, 33
"""Types of entries of the auxiliary vector (Linux, include/uapi/linux/auxvec.h): its end, and the
address of the vDSO."""
MAPPING_LIMIT = 4 << 20
"""Bytes; a vDSO has some ten kilobytes."""
_WORDS = struct.Struct("@LL")


@dataclass(frozen=True)
class Running:
    """The vDSO in the memory of a process.

    `process` is a directory like /proc/self, with the files auxv, maps and mem.
    """

    process: Path = Path("/proc/self")

    def __str__(self) -> str:
        """What it is called where a file's name is expected."""
        return f"[vdso] of the running kernel {platform.release()}"

    def read(self) -> bytes:
        """The bytes of the mapping, as the kernel has patched them.

        Raises InputError where there is none, or it cannot be read.
        """
        try:
            address = self._address()
            size = self._end(address) - address
            if size > MAPPING_LIMIT:
                raise InputError(str(self), f"its mapping has {size} bytes, more than any vDSO has")
            with (self.process / "mem").open("rb") as memory:
                memory.seek(address)
                data = memory.read(size)
        except (OSError, OverflowError) as error:
            why = error if isinstance(error, OSError) else ValueError(error)
            raise InputError(
                str(self),
                f"{self.process} cannot be read ({reason(why)}); Linux with /proc is needed",
            ) from None
        if len(data) != size:
            raise InputError(
                str(self), f"only {len(data)} of {size} bytes at {address:#x} are there"
            )
        return data

    def _address(self) -> int:
        """Where the vDSO begins."""
        vector = (self.process / "auxv").read_bytes()
        whole = vector[: len(vector) // _WORDS.size * _WORDS.size]
        for kind, value in _WORDS.iter_unpack(whole):
            if kind == AT_SYSINFO_EHDR and value:
                return int(value)
            if kind == AT_NULL:
                break
        raise InputError(
            str(self), "the kernel gives processes no vDSO (it may be booted with vdso=0)"
        )

    def _end(self, address: int) -> int:
        """The end of the mapping that begins there."""
        for line in (self.process / "maps").read_text(errors="replace").splitlines():
            start, _, end = line.partition(" ")[0].partition("-")
            try:
                if int(start, 16) == address <= int(end, 16):
                    return int(end, 16)
            except ValueError:
                continue
        raise InputError(str(self), f"no mapping begins at its address {address:#x}")
