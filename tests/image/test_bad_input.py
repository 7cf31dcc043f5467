"""Everything that cannot be used is one line that names the file and the reason."""

from __future__ import annotations

import io
import os
import pickle
import random
import socket
import struct
import sys
import tarfile
import time
from typing import TYPE_CHECKING

import pytest

from tests.image import containers, elves
from tests.image.containers import COMPRESSORS
from verify.errors import FormatError, InputError
from verify.image import images_in, open_images
from verify.image.compression import Budget, budget_for, decompress, recognise

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VDSO = elves.shared_object()
WITHOUT_GETRANDOM = elves.shared_object(exports=("__vdso_time", "__vdso_getcpu"))
KERNEL = elves.kernel(VDSO)
ZSTD = COMPRESSORS["zstd"](KERNEL)
DEB = containers.deb({"./boot/vmlinuz-1": containers.zboot(ZSTD)}, "gzip")
NOISE = random.Random(1).randbytes(100_000)
ZEROS = bytes(1 << 20)
NO_VDSO = "no vDSO inside"


def nested(depth: int) -> bytes:
    data = KERNEL
    for _ in range(depth):
        data = containers.zboot(COMPRESSORS["lz4"](data))
    return data


def bomb(size: int, start: bytes = b"") -> bytes:
    """A Zstandard frame of `start` and `size` zero bytes in runs (RFC 8878, section 3.1.1)."""
    header = b"\x28\xb5\x2f\xfd" + bytes([0x00, 0x58])
    raw = struct.pack("<I", len(start) << 3)[:3] + start
    run = struct.pack("<I", 1 << 20 | 1 << 1)[:3] + b"\0"
    return header + raw + run * (size >> 17) + b"\x01\0\0"


def tar_of(size: int, content: bytes, name: str = "./boot/vmlinuz") -> bytes:
    """The start of a tar archive with one file, of which only `content` is there."""
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf() + content


def with_tar(data: bytes) -> bytes:
    return containers.ar({"debian-binary": b"2.0\n", "data.tar": data})


CASES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty file"),
    "text": (b"hello\n", "neither ELF nor a known kernel image"),
    "noise": (NOISE, "neither ELF nor a known kernel image"),
    "ELF magic only": (b"\x7fELF", "truncated ELF file"),
    "core dump": (elves.shared_object(kind=elves.ET_CORE), "ELF type ET_CORE"),
    "library": (elves.shared_object(exports=("printf",), local=False), NO_VDSO),
    "vDSO without getrandom": (
        WITHOUT_GETRANDOM,
        "the vDSO has no getrandom function; it exports __vdso_getcpu, __vdso_time",
    ),
    "kernel without getrandom": (
        elves.vmlinux(WITHOUT_GETRANDOM),
        "the vDSO has no getrandom function; it exports __vdso_getcpu, __vdso_time",
    ),
    "kernel without vDSO": (elves.vmlinux(), NO_VDSO),
    "Image without vDSO": (containers.arm64_image(elves.kernel()), NO_VDSO),
    "kernel with damaged vDSO": (
        elves.vmlinux(elves.patched(VDSO, 56, "Q", 0, section=3)),
        "no ELF shared object that exports getrandom; ELF at 0x3000: damaged ELF file",
    ),
    "zboot without vDSO": (containers.zboot(COMPRESSORS["zstd"](elves.kernel())), NO_VDSO),
    "truncated vmlinux": (elves.vmlinux(VDSO)[:-1], "truncated ELF file"),
    "truncated zboot": (containers.zboot(ZSTD)[:1000], "truncated EFI zboot image"),
    "empty zboot": (containers.zboot(b""), "truncated EFI zboot image"),
    "unknown zboot": (containers.zboot(NOISE, "xyz"), "damaged or unknown payload (xyz)"),
    "old bzImage": (containers.bzimage(ZSTD, version=0x207), "older than 2.08"),
    "truncated bzImage": (containers.bzimage(ZSTD)[:-1000], "truncated bzImage"),
    "lzo": (containers.zboot(b"\x89LZO\0\r\n\x1a\n"), "LZO"),
    "nested": (nested(7), "nested too deeply"),
    "many vDSO-like": (
        elves.vmlinux(*[elves.shared_object(("x",))] * 300, size=2 << 20),
        "more than 256 ELF shared objects inside",
    ),
    "many magics": (containers.arm64_image(b"\x7fELF" * 100_000), "more than 65536 ELF files"),
    "static library": (containers.ar({"a.o": b"x"}), "an archive, but not a Debian package"),
    "package without kernel": (containers.deb({"./usr/bin/x": VDSO}), "without a kernel image"),
    "package without data": (containers.ar({"debian-binary": b"2.0\n"}), "no data archive"),
    "empty archive": (b"!<arch>\n", "no data archive"),
    "truncated package": (DEB[:-100], "truncated Debian package"),
    "package, bad header": (DEB[:8] + b"x" * 60, "bad archive member header"),
    "package, negative size": (
        DEB[:56] + b"-100      `\n" + DEB[68:],
        "bad archive member header",
    ),
    "package, many members": (
        containers.ar({"debian-binary": b""} | {f"m{i}": b"" for i in range(20)}),
        "too many archive members",
    ),
    "package, noise": (with_tar(NOISE), "damaged Debian package"),
    "package, short kernel": (with_tar(tar_of(1 << 20, bytes(600))), "damaged Debian package"),
    "package, huge kernel": (with_tar(tar_of(1 << 33, bytes(600))), "has 8589934592 bytes"),
    "zboot bomb": (containers.zboot(bomb(1 << 33)), "unpacks to more than 32 MiB"),
    "s390x bomb": (containers.s390_image(bomb(1 << 33)), "unpacks to more than 36 MiB"),
    "package bomb": (
        with_tar(bomb(1 << 33, tar_of(1 << 33, b"", "./file"))),
        "unpacks to more than 32 MiB",
    ),
}
for name, compress in COMPRESSORS.items():
    packed = compress(KERNEL)
    damaged = packed[:200] + NOISE[:2000] + packed[2200:]
    CASES |= {
        f"truncated {name}": (containers.zboot(packed[: len(packed) // 2]), name),
        f"corrupt {name}": (containers.zboot(damaged), name),
        f"only magic {name}": (containers.zboot(packed[:6]), name),
    }


@pytest.mark.parametrize(("data", "reason"), CASES.values(), ids=CASES.keys())
def test_content(data: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    start = time.perf_counter()
    with pytest.raises(InputError) as error:
        open_images(file)
    message = str(error.value)
    assert message.startswith(f"{file}: ")
    assert reason in message
    assert message.isprintable()
    assert time.perf_counter() - start < 5
    assert list(tmp_path.iterdir()) == [file]


def below_a_file(path: Path) -> Path:
    (path / "file").write_bytes(VDSO)
    return path / "file" / "below"


def unix_socket(path: Path) -> Path:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path / "socket"))
    listener.close()
    return path / "socket"


FILES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "missing": (lambda path: path / "none", "no such file"),
    "directory": (lambda path: path, "is a directory; give a file in it"),
    "below a file": (below_a_file, "cannot be read"),
    "socket": (unix_socket, "cannot be read"),
    "long name": (lambda path: path / ("x" * 5000), "cannot be read"),
    "zero byte": (lambda path: path / "a\0b", "cannot be read"),
}


@pytest.mark.parametrize(("make", "reason"), FILES.values(), ids=FILES.keys())
def test_file(make: Callable[[Path], Path], reason: str, tmp_path: Path) -> None:
    path = make(tmp_path)
    with pytest.raises(InputError) as error:
        open_images(path)
    assert reason in str(error.value)
    assert str(error.value).isprintable()


def test_no_permission(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(VDSO)
    file.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may read everything
    try:
        with pytest.raises(InputError, match="permission denied"):
            open_images(file)
    finally:
        os.seteuid(user)


def test_empty_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(InputError, match=r"^standard input: empty file$"):
        open_images("-")


def test_odd_names_stay_on_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        open_images(tmp_path / "a\nb\x1b[1m\udcff")
    assert str(error.value).endswith("a\\nb\\x1b[1m\\udcff: no such file")


@pytest.mark.parametrize("name", COMPRESSORS)
def test_budget_bounds_every_decompressor(name: str) -> None:
    packed = COMPRESSORS[name](ZEROS * 24)
    compression = recognise(packed)
    assert compression is not None
    assert compression.name == name
    budget = Budget(24 << 20)
    assert decompress(compression, memoryview(packed), budget) == ZEROS * 24
    assert budget.left == 0
    with pytest.raises(FormatError, match="unpacks to more than 23 MiB"):
        decompress(compression, memoryview(packed), Budget(23 << 20))


@pytest.mark.parametrize(
    ("size", "limit"),
    [(0, 16 << 20), (1 << 20, 80 << 20), (8 << 20, 512 << 20), (1 << 30, 512 << 20)],
)
def test_small_inputs_have_small_budgets(size: int, limit: int) -> None:
    assert budget_for(size, 512 << 20).limit == limit


def test_errors_survive_other_processes() -> None:
    with pytest.raises(InputError) as error:
        images_in(b"", "x")
    copy = pickle.loads(pickle.dumps(error.value))
    assert (str(copy), copy.source, copy.reason) == ("x: empty file", "x", "empty file")
