"""Compressed payloads, boot images and packages, built around any content."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
from collections.abc import Callable, Mapping

import lz4.block
import lz4.frame
import zstandard

LZ4_LEGACY_BLOCK = 8 << 20


def lz4_legacy(data: bytes) -> bytes:
    """The format that `lz4 -l` writes and the kernel's build uses."""
    out = struct.pack("<I", 0x184C2102)
    for start in range(0, len(data), LZ4_LEGACY_BLOCK):
        block = lz4.block.compress(data[start : start + LZ4_LEGACY_BLOCK], store_size=False)
        out += struct.pack("<I", len(block)) + block
    return out


COMPRESSORS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 1),
    "zstd": lambda data: zstandard.ZstdCompressor(1, write_checksum=True).compress(data),
    "xz": lambda data: lzma.compress(data, preset=0),
    "lz4": lambda data: bytes(lz4.frame.compress(data)),
    "lz4 legacy": lz4_legacy,
    "bzip2": lambda data: bz2.compress(data, 1),
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE, preset=0),
}


def zboot(payload: bytes, compression: str = "zstd") -> bytes:
    head = b"MZ\0\0zimg" + struct.pack("<IIII", 512, len(payload), 0, 0)
    head += compression.encode().ljust(32, b"\0")
    return head.ljust(512, b"\0") + payload + bytes(64)


def bzimage(payload: bytes, sectors: int = 4, version: int = 0x20F) -> bytes:
    head = bytearray((sectors + 1) * 512)
    head[0x1F1] = sectors
    head[0x1FE:0x202] = b"\x55\xaa\xeb\x66"
    head[0x202:0x208] = b"HdrS" + struct.pack("<H", version)
    head[0x248:0x250] = struct.pack("<II", 256, len(payload))
    return bytes(head) + bytes(256) + payload + bytes(128)


def with_magic(offset: int, magic: bytes) -> Callable[[bytes], bytes]:
    """A boot image with the kernel as it is: `magic` at `offset`, the content behind it."""

    def build(content: bytes) -> bytes:
        head = bytearray(-(-(offset + 64) // 4096) * 4096)
        head[offset : offset + len(magic)] = magic
        return bytes(head) + content

    return build


arm64_image = with_magic(0x38, b"ARM\x64")
riscv_image = with_magic(0x38, b"RSC\x05")
efi_image = with_magic(0x38, b"\xcd\x23\x82\x81")
s390_image = with_magic(0x10008, b"S390EP")


def tar(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        directory = tarfile.TarInfo("./boot")
        directory.type = tarfile.DIRTYPE
        archive.addfile(directory)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def ar(members: Mapping[str, bytes]) -> bytes:
    out = b"!<arch>\n"
    for name, content in members.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


def deb(files: Mapping[str, bytes], compression: str = "xz") -> bytes:
    suffix, pack = {
        "": ("", bytes),
        "gzip": (".gz", COMPRESSORS["gzip"]),
        "xz": (".xz", COMPRESSORS["xz"]),
        "zstd": (".zst", COMPRESSORS["zstd"]),
    }[compression]
    return ar(
        {
            "debian-binary": b"2.0\n",
            "control.tar" + suffix: pack(tar({"./control": b"Package: linux-binary-test\n"})),
            "data.tar" + suffix: pack(tar(files)),
        }
    )
