"""Compressed payloads, recognised by their magic numbers and unpacked within a budget.

Trailing bytes are ignored: the kernel's build appends the unpacked size to some payloads, and
boot images pad theirs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import lz4.block
import lz4.frame
import zstandard

from verify.errors import FormatError

Buffer = bytes | bytearray

MIB = 1 << 20

INPUT_STEP = 64 * 1024
OUTPUT_STEP = 1 * MIB
# One input byte of a Zstandard frame can stand for 32 KiB and its decompressor has no output
# limit, so it is fed in steps whose output stays below 32 MiB.
ZSTD_INPUT_STEP = 1024
# Dictionaries and windows beyond this are refused; the kernel's build uses at most 128 MiB.
MEMORY_LIMIT = 192 * MIB
# How much an input may grow, in bytes at least and per byte.
SMALL_INPUT_BUDGET = 16 * MIB
EXPANSION = 64
# The legacy LZ4 format cuts its input into blocks of exactly this size.
LZ4_LEGACY_BLOCK = 8 * MIB
LZ4_LEGACY_BLOCK_BOUND = LZ4_LEGACY_BLOCK + LZ4_LEGACY_BLOCK // 255 + 16


class Budget:
    """How many bytes may still be unpacked while one input file is read."""

    def __init__(self, limit: int) -> None:
        """Allow `limit` bytes."""
        self.limit = limit
        self.left = limit

    def spend(self, size: int) -> None:
        """Take `size` bytes; raise `FormatError` when they are more than what is left."""
        self.left -= size
        if self.left < 0:
            raise FormatError(f"unpacks to more than {self.limit // MIB} MiB, which is the limit")


def budget_for(size: int, most: int) -> Budget:
    """The budget of an input of `size` bytes: at most `most`, and less where it is small.

    Kernels and their packages shrink to a quarter or so; what grows far more is a bomb, and is
    given up early.
    """
    return Budget(min(most, SMALL_INPUT_BUDGET + EXPANSION * size))


@dataclass(frozen=True)
class Compression:
    """A compression format: its name, the bytes it starts with, and its decompressor."""

    name: str
    magic: bytes
    unpack: Callable[[memoryview], Iterator[bytes]]


def _pieces(data: memoryview, step: int = INPUT_STEP) -> Iterator[memoryview]:
    return (data[start : start + step] for start in range(0, len(data), step))


def _gzip(data: memoryview) -> Iterator[bytes]:
    import zlib

    decompressor = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    for piece in _pieces(data):
        pending = bytes(piece)
        while pending and not decompressor.eof:
            yield decompressor.decompress(pending, OUTPUT_STEP)
            pending = decompressor.unconsumed_tail
        if decompressor.eof:
            return
    raise EOFError


def _lzma(data: memoryview) -> Iterator[bytes]:
    import lzma

    decompressor = lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=MEMORY_LIMIT)
    for piece in _pieces(data):
        yield decompressor.decompress(bytes(piece), OUTPUT_STEP)
        while not decompressor.eof and not decompressor.needs_input:
            yield decompressor.decompress(b"", OUTPUT_STEP)
        if decompressor.eof:
            return
    raise EOFError


def _bzip2(data: memoryview) -> Iterator[bytes]:
    import bz2

    decompressor = bz2.BZ2Decompressor()
    for piece in _pieces(data):
        yield decompressor.decompress(bytes(piece), OUTPUT_STEP)
        while not decompressor.eof and not decompressor.needs_input:
            yield decompressor.decompress(b"", OUTPUT_STEP)
        if decompressor.eof:
            return
    raise EOFError


def _lz4_frame(data: memoryview) -> Iterator[bytes]:
    decompressor = lz4.frame.LZ4FrameDecompressor()
    for piece in _pieces(data):
        yield decompressor.decompress(bytes(piece), OUTPUT_STEP)
        while not decompressor.eof and not decompressor.needs_input:
            yield decompressor.decompress(b"", OUTPUT_STEP)
        if decompressor.eof:
            return
    raise EOFError


def _lz4_legacy(data: memoryview) -> Iterator[bytes]:
    position = 4
    while position + 4 <= len(data):
        size = int.from_bytes(data[position : position + 4], "little")
        position += 4
        if position == len(data):
            return  # not a block but the unpacked size, appended by the kernel's build
        if not 0 < size <= LZ4_LEGACY_BLOCK_BOUND:
            return  # the next stream's magic number, or padding
        if position + size > len(data):
            raise EOFError
        block = lz4.block.decompress(
            bytes(data[position : position + size]), uncompressed_size=LZ4_LEGACY_BLOCK
        )
        yield block
        position += size
        if len(block) < LZ4_LEGACY_BLOCK:
            return
    if position == 4:
        raise EOFError


def _zstd(data: memoryview) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=MEMORY_LIMIT).decompressobj()
    for piece in _pieces(data, ZSTD_INPUT_STEP):
        yield decompressor.decompress(piece)
        if decompressor.eof:
            return
    raise EOFError


def _lzo(_data: memoryview) -> Iterator[bytes]:
    raise FormatError("compressed with LZO, which is not supported; unpack it with lzop first")


COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b\x08", _gzip),
    Compression("zstd", b"\x28\xb5\x2f\xfd", _zstd),
    Compression("xz", b"\xfd7zXZ\x00", _lzma),
    Compression("lz4", b"\x04\x22\x4d\x18", _lz4_frame),
    Compression("lz4 legacy", b"\x02\x21\x4c\x18", _lz4_legacy),
    Compression("bzip2", b"BZh", _bzip2),
    Compression("lzma", b"\x5d\x00\x00", _lzma),
    Compression("lzo", b"\x89LZO\x00", _lzo),
)


def recognise(data: Buffer | memoryview, offset: int = 0) -> Compression | None:
    """Return the compression whose magic number stands at `offset`, or None."""
    head = bytes(data[offset : offset + 8])
    return next((c for c in COMPRESSIONS if head.startswith(c.magic)), None)


def stream(compression: Compression, data: memoryview, budget: Budget) -> Iterator[bytes]:
    """Unpack `data` piece by piece, at most what `budget` allows.

    Raises `FormatError` for corrupt or truncated data and for a spent budget.
    """
    try:
        for chunk in compression.unpack(data):
            budget.spend(len(chunk))
            yield chunk
    except EOFError:
        raise FormatError(f"truncated {compression.name} data") from None
    except ImportError as error:
        raise FormatError(f"this Python lacks the module {error.name} that unpacks it") from None
    except FormatError:
        raise
    # Each library has its own exception classes, some of them plain RuntimeError.
    except Exception as error:  # noqa: BLE001
        raise FormatError(f"corrupt {compression.name} data ({error})") from None


def decompress(compression: Compression, data: memoryview, budget: Budget) -> bytearray:
    """Unpack all of `data`; errors as in `stream`."""
    unpacked = bytearray()
    for chunk in stream(compression, data, budget):
        unpacked += chunk
    return unpacked
