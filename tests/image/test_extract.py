"""Images written to a directory, with a manifest, or nothing at all."""

from __future__ import annotations

import hashlib
import json
import resource
import signal
from typing import TYPE_CHECKING

import pytest

from tests.image import containers, elves
from verify.errors import InputError
from verify.image import extract_to, images_in

if TYPE_CHECKING:
    from pathlib import Path

VDSO = elves.shared_object()
VDSO32 = elves.shared_object(layout=elves.Format(32, little=False), machine=elves.EM_386)
IMAGES = images_in(containers.arm64_image(elves.kernel(VDSO, VDSO32)), "/some/where/Image")


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_files_and_manifest(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "directory"
    manifest = extract_to(IMAGES, directory)
    files = contents(directory)
    assert files.keys() == {"vdso64.so", "vdso32.so", "manifest.json"}
    assert (files["vdso64.so"], files["vdso32.so"]) == (VDSO, VDSO32)
    assert json.loads(files["manifest.json"]) == manifest
    assert manifest["images"][1] == {
        "file": "vdso32.so",
        "size": len(VDSO32),
        "sha256": hashlib.sha256(VDSO32).hexdigest(),
        "source": ["Image", "arm64 Image", "ELF at 0x4000"],
        "machine": "EM_386",
        "bits": 32,
        "byte_order": "big",
        "build_id": elves.BUILD_ID.hex(),
    }
    assert (directory / "vdso64.so").stat().st_mode & 0o444 == 0o444


def test_object_keeps_its_suffix(tmp_path: Path) -> None:
    extract_to(images_in(elves.relocatable_object(), "a.o", "a"), tmp_path)
    assert contents(tmp_path).keys() == {"a.o", "manifest.json"}


def test_again_gives_the_same_and_replaces_what_differs(tmp_path: Path) -> None:
    extract_to(IMAGES, tmp_path)
    before = contents(tmp_path)
    (tmp_path / "vdso64.so").write_bytes(b"something else")
    extract_to(IMAGES, tmp_path)
    assert contents(tmp_path) == before


def test_nothing_is_left_when_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "vdso32.so").mkdir()
    with pytest.raises(InputError, match=r"vdso32\.so: cannot be written"):
        extract_to(IMAGES, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["vdso32.so"]


def test_nothing_is_left_when_the_disk_is_full(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(VDSO), hard))
    try:
        large = elves.shared_object(text=elves.TEXT * 100, machine=elves.EM_386)
        images = images_in(elves.vmlinux(VDSO, large), "vmlinux")
        with pytest.raises(InputError, match=r"vdso\.2\.so: cannot be written \(File too large\)"):
            extract_to(images, tmp_path / "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert list(tmp_path.iterdir()) == []


def test_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="file: is not a directory"):
        extract_to(IMAGES, tmp_path / "file")
