"""Debian packages: the kernel image inside, read as a stream.

A package is an `ar` archive (deb(5)): `debian-binary`, a control archive, and `data.tar`,
compressed, with the files. Only that subset of `ar` is read: 60-byte headers, short names.
"""

import posixpath
import tarfile
from collections.abc import Iterator
from typing import IO, cast

from verify.errors import FormatError
from verify.image.compression import MIB, Buffer, budget_for, recognise, stream

MAGIC = b"!<arch>\n"
HEADER_SIZE = 60
MEMBER_LIMIT = 16
KERNEL_PREFIXES = ("vmlinuz", "vmlinux", "Image", "bzImage")
KERNEL_LIMIT = 512 * MIB
# A package is unpacked as a stream, up to its kernel; only that is kept.
PACKAGE_LIMIT = 1024 * MIB


class _Chunks:
    """What tarfile needs of a file, over an iterator of byte strings."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._pending = memoryview(b"")

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none only at the end."""
        while not self._pending:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._pending = memoryview(chunk)
        taken = self._pending[:size]
        self._pending = self._pending[len(taken) :]
        return bytes(taken)


def _members(data: Buffer) -> Iterator[tuple[str, memoryview]]:
    """Yield name and content of each member of an `ar` archive."""
    position = len(MAGIC)
    for _ in range(MEMBER_LIMIT):
        if position >= len(data):
            return
        header = data[position : position + HEADER_SIZE]
        digits = header[48:58].rstrip(b" ")
        if len(header) < HEADER_SIZE or header[58:] != b"`\n" or not digits.isdigit():
            raise FormatError("damaged Debian package (bad archive member header)")
        start = position + HEADER_SIZE
        end = start + int(digits)
        if end > len(data):
            raise FormatError("truncated Debian package")
        yield header[:16].rstrip(b" /").decode("ascii", "replace"), memoryview(data)[start:end]
        position = end + end % 2
    raise FormatError("damaged Debian package (too many archive members)")


def kernel(data: Buffer) -> tuple[str, bytes]:
    """Return where the first kernel image stands in the package `data`, and its bytes.

    Raises `FormatError` for a damaged package and for one without a kernel.
    """
    for number, (name, content) in enumerate(_members(data)):
        if number == 0 and name != "debian-binary":
            raise FormatError("an archive, but not a Debian package; give one of its members")
        if not name.startswith("data.tar"):
            continue
        compression = recognise(content)
        if compression is None:
            chunks = iter([content.tobytes()])
        else:
            chunks = stream(compression, content, budget_for(len(content), PACKAGE_LIMIT))
        found = _kernel_member(_Chunks(chunks))
        if found is None:
            raise FormatError(
                "a Debian package without a kernel image; give a linux-binary or linux-image one"
            )
        return f"{name}: {found[0]}", found[1]
    raise FormatError("damaged Debian package (no data archive)")


def _kernel_member(archive: _Chunks) -> tuple[str, bytes] | None:
    try:
        with tarfile.open(fileobj=cast(IO[bytes], archive), mode="r|") as tar:
            return _first_kernel(tar)
    except FormatError:
        raise
    # Besides TarError, damaged headers make tarfile raise ValueError, OverflowError and others.
    except Exception as error:  # noqa: BLE001
        raise FormatError(f"damaged Debian package ({error})") from None


def _first_kernel(tar: tarfile.TarFile) -> tuple[str, bytes] | None:
    for member in tar:
        if member.isreg() and posixpath.basename(member.name).startswith(KERNEL_PREFIXES):
            if member.size > KERNEL_LIMIT:
                raise FormatError(f"the kernel image inside has {member.size} bytes")
            file = tar.extractfile(member)
            assert file is not None  # as it is for every regular file
            return posixpath.normpath(member.name), file.read()
    return None
