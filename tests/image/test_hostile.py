"""Mutated and truncated inputs give an image or an `InputError`, soon, and nothing else."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.image import containers, elves
from tests.image.containers import COMPRESSORS
from verify.errors import InputError
from verify.image import Image, images_in

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 2.0
KERNEL = elves.kernel(elves.shared_object(), size=256 * 1024)
PACKED = COMPRESSORS["lz4"](KERNEL)

# The tables at the end of an ELF file, headers at the start: most mutations shall hit those.
INPUTS: dict[str, bytes] = {
    "shared object": elves.shared_object(),
    "shared object, 32 bits, big": elves.shared_object(layout=elves.Format(32, little=False)),
    "object": elves.relocatable_object(),
    "vmlinux": elves.vmlinux(elves.shared_object(), size=16384),
    "Image": containers.arm64_image(elves.kernel(elves.shared_object(), size=16384)),
    "zboot": containers.zboot(PACKED, "lz4"),
    "bzImage": containers.bzimage(COMPRESSORS["gzip"](KERNEL)),
    "package": containers.deb({"./boot/vmlinuz": containers.zboot(PACKED)}, "gzip"),
} | {f"{path.parent.name}/{path.name}": path.read_bytes() for path in elves.BINARIES}


def opened(data: bytes) -> tuple[tuple[Image, ...], str]:
    try:
        return images_in(data, "input"), ""
    except InputError as error:
        return (), str(error)


def check(data: bytes) -> tuple[Image, ...]:
    """Open `data` and check what comes out of it; return nothing for an `InputError`."""
    start = time.perf_counter()
    images, message = opened(data)
    assert time.perf_counter() - start < SECONDS
    assert images or message.startswith("input: ")
    assert message.isprintable()
    for image in images:
        assert image.sha256 == hashlib.sha256(image.data).hexdigest()
        for symbol in image.elf.symbols:
            if symbol.is_function and image.elf.text_contains(symbol.address):
                assert len(image.elf.read(symbol.address, symbol.size)) == symbol.size
    return images


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """One of the inputs with bytes changed, cut out or doubled, and perhaps cut short."""
    data = bytearray(INPUTS[draw(st.sampled_from(sorted(INPUTS)))])
    edge = min(len(data), 1200)
    position = st.one_of(
        st.integers(0, edge - 1),
        st.integers(len(data) - edge, len(data) - 1),
        st.integers(0, len(data) - 1),
    )
    for _ in range(draw(st.integers(0, 6))):
        at = min(draw(position), len(data) - 1)
        kind = draw(st.sampled_from(["byte", "word", "long", "cut", "insert"]))
        if kind == "byte":
            data[at] = draw(st.integers(0, 255))
        elif kind in ("word", "long"):
            size = 4 if kind == "word" else 8
            at &= -size
            value = draw(st.one_of(st.integers(0, 300), st.integers(0, 256**size - 1)))
            order = draw(st.sampled_from(["little", "big"]))
            data[at : at + size] = value.to_bytes(size, order)  # type: ignore[arg-type]
        elif kind == "cut":
            del data[at : at + draw(st.integers(1, 64))]
        else:
            data[at:at] = data[max(at - draw(st.integers(1, 64)), 0) : at]
    if draw(st.booleans()):
        del data[draw(st.integers(0, len(data))) :]
    return bytes(data)


@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=mutations())
def test_mutations(data: bytes) -> None:
    check(data)


@pytest.mark.long
@settings(max_examples=50_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=mutations())
def test_many_mutations(data: bytes) -> None:
    check(data)


def truncations(name: str, lengths: Sequence[int]) -> None:
    """A file cut short gives an error, or exactly the images that the whole file gives."""
    data = INPUTS[name]
    whole = [image.data for image in check(data)]
    assert whole
    for length in lengths:
        assert [image.data for image in check(data[:length])] in ([], whole)


@pytest.mark.parametrize("name", INPUTS)
def test_truncations(name: str) -> None:
    size = len(INPUTS[name])
    truncations(name, sorted({*range(0, size, size // 150 + 1), *range(size - 40, size)}))


@pytest.mark.long
@pytest.mark.parametrize("name", INPUTS)
def test_every_truncation(name: str) -> None:
    truncations(name, range(len(INPUTS[name])))


@pytest.mark.parametrize("name", [name for name in INPUTS if name not in ("zboot", "bzImage")])
def test_a_truncated_elf_file_is_an_error(name: str) -> None:
    data = INPUTS[name]
    if data.startswith(b"\x7fELF"):
        assert check(data[:-1]) == ()
