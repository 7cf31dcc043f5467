"""Every container that a vDSO comes in leads to the same bytes."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.image import containers, elves
from tests.image.containers import COMPRESSORS
from verify.image import images_in, open_images

if TYPE_CHECKING:
    from pathlib import Path

VDSO = elves.shared_object()
VDSO32 = elves.shared_object(layout=elves.Format(32, little=True), machine=elves.EM_386)
OTHER = elves.shared_object(flags=0x41)
WITHOUT_GETRANDOM = elves.shared_object(exports=("__vdso_time", "__vdso_getcpu"))
LIBRARY = elves.shared_object(exports=("printf",))
KERNEL = elves.kernel(VDSO)
AT = "ELF at 0x2000"

CONTAINERS = {
    "shared object": (VDSO, ()),
    "vmlinux": (elves.vmlinux(VDSO), ("ELF at 0x3000",)),
    "arm64 Image": (containers.arm64_image(KERNEL), ("arm64 Image", "ELF at 0x3000")),
    "RISC-V Image": (containers.riscv_image(KERNEL), ("RISC-V Image", "ELF at 0x3000")),
    "EFI Image": (containers.efi_image(KERNEL), ("EFI Image", "ELF at 0x3000")),
    "s390x, not compressed": (containers.s390_image(KERNEL), ("s390x image", "ELF at 0x13000")),
    "bzImage, not compressed": (
        containers.bzimage(elves.vmlinux(VDSO)),
        ("bzImage (not compressed)", "ELF at 0x3000"),
    ),
    "ELF wrapper": (
        elves.vmlinux(COMPRESSORS["gzip"](KERNEL)),
        ("gzip at 0x3000", AT),
    ),
    "Image.gz": (
        COMPRESSORS["gzip"](containers.arm64_image(KERNEL)),
        ("gzip", "arm64 Image", "ELF at 0x3000"),
    ),
    "vmlinux.xz": (COMPRESSORS["xz"](elves.vmlinux(VDSO)), ("xz", "ELF at 0x3000")),
    "zboot in zboot": (
        containers.zboot(COMPRESSORS["xz"](containers.zboot(COMPRESSORS["zstd"](KERNEL)))),
        ("EFI zboot (xz)", "EFI zboot (zstd)", AT),
    ),
}
for name, compress in COMPRESSORS.items():
    CONTAINERS |= {
        f"zboot {name}": (
            containers.zboot(compress(KERNEL), name),
            (f"EFI zboot ({name})", AT),
        ),
        # The kernel's build appends the unpacked size to the payload.
        f"bzImage {name}": (
            containers.bzimage(compress(KERNEL) + len(KERNEL).to_bytes(4, "little")),
            (f"bzImage ({name})", AT),
        ),
        f"s390x {name}": (
            containers.s390_image(compress(KERNEL)),
            (f"{name} at 0x11000", AT),
        ),
    }
for name in ("", "gzip", "xz", "zstd"):
    suffix = {"": "", "gzip": ".gz", "xz": ".xz", "zstd": ".zst"}[name]
    CONTAINERS[f"package {name}"] = (
        containers.deb(
            {
                "./usr/share/doc/vmlinux.txt/copyright": b"text",
                "./boot/vmlinuz-7.2": containers.zboot(COMPRESSORS["zstd"](KERNEL)),
                "./lib/modules/7.2/a.ko": elves.relocatable_object(),
            },
            name,
        ),
        (f"data.tar{suffix}: boot/vmlinuz-7.2", "EFI zboot (zstd)", AT),
    )


@pytest.mark.parametrize(("data", "path"), CONTAINERS.values(), ids=CONTAINERS.keys())
def test_the_vdso_is_found(data: bytes, path: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "some-file.bin"
    file.write_bytes(data)
    (image,) = open_images(file)
    assert image.data == VDSO
    assert image.path == ("some-file.bin", *path)
    assert image.name == ("vdso" if path else "some-file")
    assert image.elf.getrandom is not None


@pytest.mark.parametrize("size", [8 << 20, 9 << 20, 16 << 20])
def test_lz4_legacy_of_several_blocks(size: int) -> None:
    kernel = elves.kernel(VDSO, size=size)
    for appended in (b"", len(kernel).to_bytes(4, "little")):
        (image,) = images_in(containers.zboot(containers.lz4_legacy(kernel) + appended), "x")
        assert image.data == VDSO


def test_what_is_inside_a_vdso_is_not_another() -> None:
    nesting = elves.shared_object(text=elves.TEXT + OTHER + bytes(16))
    (image,) = images_in(elves.vmlinux(nesting), "vmlinux")
    assert image.data == nesting


@pytest.mark.parametrize(
    ("embedded", "names"),
    [
        ([VDSO], ["vdso"]),
        ([VDSO, VDSO], ["vdso"]),
        ([VDSO, VDSO32], ["vdso64", "vdso32"]),
        ([VDSO, OTHER], ["vdso.1", "vdso.2"]),
        ([VDSO, VDSO32, OTHER], ["vdso.1", "vdso.2", "vdso.3"]),
        ([WITHOUT_GETRANDOM, VDSO, LIBRARY], ["vdso"]),
    ],
)
def test_names_tell_several_apart(embedded: list[bytes], names: list[str]) -> None:
    images = images_in(elves.vmlinux(*embedded), "vmlinux")
    assert [image.name for image in images] == names
    assert [i.data for i in images] == [
        d for d in dict.fromkeys(embedded) if d not in (WITHOUT_GETRANDOM, LIBRARY)
    ]


@pytest.mark.parametrize("layout", [elves.Format(b, o) for b in (32, 64) for o in (True, False)])
def test_every_class_and_byte_order_is_found_in_a_kernel(layout: elves.Format) -> None:
    vdso = elves.shared_object(layout=layout)
    (image,) = images_in(elves.vmlinux(vdso), "vmlinux")
    assert image.data == vdso


def test_relocatable_object_is_returned_as_it_is() -> None:
    data = elves.relocatable_object()
    (image,) = images_in(data, "dir/vgetrandom-chacha.o", "vgetrandom-chacha")
    assert (image.name, image.data, image.path) == (
        "vgetrandom-chacha",
        data,
        ("vgetrandom-chacha.o",),
    )


def test_the_function_alone_in_a_shared_object_is_returned_as_it_is() -> None:
    (image,) = images_in(LIBRARY, "linked.so", "linked")
    assert (image.name, image.data, image.path) == ("linked", LIBRARY, ("linked.so",))


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("vdso64.so.dbg", "vdso64"),
        ("looped.stripped.so", "looped.stripped"),
        ("vdso", "vdso"),
        (".so", "vdso"),
    ],
)
def test_name_of_a_file_given_directly(file: str, name: str, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(VDSO)
    assert open_images(tmp_path / file)[0].name == name


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VDSO)))
    (image,) = open_images("-")
    assert (image.name, image.data, image.path) == ("vdso", VDSO, ("standard input",))


@pytest.mark.parametrize("path", elves.BINARIES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_our_binaries_open_quickly(path: Path) -> None:
    open_images(path)
    start = time.perf_counter()
    (image,) = open_images(path)
    assert time.perf_counter() - start < 0.03
    assert image.data == path.read_bytes()


def test_nothing_slow_is_imported() -> None:
    code = "import sys, verify.image.debian; print({'angr', 'z3', 'pypcode'} & sys.modules.keys())"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=elves.ROOT)
    assert done.stdout.strip() == "set()"
