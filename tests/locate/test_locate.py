"""The function is found by symbol, by what it is, or by hand; anything doubtful is one error."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.image import elves
from verify.arch import ARCHITECTURES
from verify.errors import InputError
from verify.image import SYMBOL, Elf, Image, Segment, Symbol, images_in
from verify.locate import find_target

if TYPE_CHECKING:
    from verify.target import Target

ROOT = Path(__file__).resolve().parents[2]
BINARIES = {
    entry["path"]: (entry["function"]["address"], entry["function"]["size"])
    for manifest in sorted((ROOT / "binaries").glob("*/manifest.json"))
    for entry in json.loads(manifest.read_text())["files"]
    if "fault" not in entry and entry["path"].endswith(".so")
}
LOONGARCH = "binaries/loongarch64/looped.so"
POWERPC = "binaries/powerpc64le/looped.so"
STRIPPED = {
    "loongarch64": "binaries/loongarch64/looped.stripped.so",
    "powerpc64le": "binaries/powerpc64le/unrolled.stripped.so",
}
RETURN = {"loongarch64": 0x4C000020, "powerpc64le": 0x4E800020}


def image_of(path: str) -> Image:
    (image,) = images_in((ROOT / path).read_bytes(), path)
    return image


def find(image: Image, function: str | None = None) -> Target:
    return find_target(image, "file", "0" * 64, function)


def changed(image: Image, **changes: object) -> Image:
    """The image with other fields of its Elf."""
    return dataclasses.replace(image, elf=dataclasses.replace(image.elf, **changes))  # type: ignore[arg-type]


def with_words(image: Image, words: dict[int, int]) -> Image:
    """The image with other little-endian instruction words at some addresses."""

    def patch(segment: Segment) -> Segment:
        data = bytearray(segment.data)
        for address, word in words.items():
            if segment.address <= address < segment.end:
                offset = address - segment.address
                data[offset : offset + 4] = word.to_bytes(4, "little")
        return dataclasses.replace(segment, data=bytes(data))

    return changed(image, segments=tuple(map(patch, image.elf.segments)))


def call(architecture: str, source: int, target: int) -> int:
    """The word of a call: LoongArch `bl` (offset in words, low half first), PowerPC `bl`."""
    offset = target - source
    if architecture == "loongarch64":
        words = offset >> 2
        return 0x54000000 | (words & 0xFFFF) << 10 | words >> 16 & 0x3FF
    return 0x48000001 | offset & 0x03FFFFFC


@pytest.mark.parametrize(("path", "place"), BINARIES.items(), ids=BINARIES.keys())
def test_every_binary(path: str, place: tuple[int, int]) -> None:
    target = find(image_of(path))
    function = target.function
    assert (function.address, function.size) == place
    assert target.architecture.name == Path(path).parent.name
    assert (target.source, target.sha256) == ("file", "0" * 64)
    assert target.function_bytes == target.code(*place)
    by_symbol = ".stripped" not in path
    assert function.name == (SYMBOL if by_symbol else f"{place[0]:#x}")
    how = (
        rf"symbol {SYMBOL}(, whose descriptor is at 0x[0-9a-f]+)?"
        if by_symbol
        else r"reached from __.* by the call at 0x[23][0-9a-f]{2} and .*"
    )
    assert re.fullmatch(how, function.located)


def test_by_symbol_does_not_import_angr() -> None:
    script = (
        "import sys; from pathlib import Path; from verify.image import open_images\n"
        "from verify.locate import find_target\n"
        f"find_target(open_images('{LOONGARCH}')[0], 'x', '')\n"
        "sys.exit('angr' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


@pytest.mark.parametrize(("architecture", "path"), STRIPPED.items())
def test_through_a_wrapper(architecture: str, path: str) -> None:
    """The exported function may call another that calls ChaCha20, as PowerPC's assembly does."""
    image = image_of(path)
    getrandom = image.elf.getrandom
    assert getrandom is not None
    found = find(image).function
    wrapper = found.address + found.size
    text = b"".join(
        word.to_bytes(4, "little")
        for word in (call(architecture, wrapper, getrandom.address), RETURN[architecture])
    )

    def extend(segment: Segment) -> Segment:
        if not segment.executable:
            return segment
        data = segment.data[: wrapper - segment.address] + text
        return dataclasses.replace(segment, data=data)

    moved = tuple(
        dataclasses.replace(s, address=wrapper) if s == getrandom else s for s in image.elf.symbols
    )
    wrapped = changed(image, symbols=moved, segments=tuple(map(extend, image.elf.segments)))
    assert find(wrapped).function == found


LINK = {"loongarch64": 0x0400_0000, "powerpc64le": 1}
"""The bit in which a call differs from a jump."""


@pytest.mark.parametrize("instruction", [0, 4])
@pytest.mark.parametrize(("architecture", "path"), STRIPPED.items())
def test_behind_a_jump_that_the_kernel_replaces(
    architecture: str, path: str, instruction: int
) -> None:
    image = image_of(path)
    found = find(image)
    getrandom = image.elf.getrandom
    assert getrandom is not None
    code = found.code(getrandom.address, getrandom.size)
    assert code is not None
    returned = getrandom.address + code.index(RETURN[architecture].to_bytes(4, "little"))
    source = getrandom.address + instruction
    jump = call(architecture, source, returned) & ~LINK[architecture]
    assert find(with_words(image, {source: jump})).function == found.function


OPAQUE = {"loongarch64": 0x38720000, "powerpc64le": 0x7C6C42A6}
"""`dbar 0` and `mftb r3`: instructions that are not executed symbolically."""


@pytest.mark.parametrize(("architecture", "path"), STRIPPED.items())
def test_beyond_an_instruction_without_semantics(architecture: str, path: str) -> None:
    image = image_of(path)
    found = find(image).function
    site = int(found.located.partition("call at ")[2].split()[0], 16)
    assert find(with_words(image, {site - 4: OPAQUE[architecture]})).function == found


@pytest.mark.parametrize(("architecture", "path"), STRIPPED.items())
def test_ambiguous_by_code(architecture: str, path: str) -> None:
    image = image_of(path)
    function = find(image).function
    getrandom = image.elf.getrandom
    assert getrandom is not None
    again = function.address + 4
    last = getrandom.address + getrandom.size - 8
    twice = with_words(image, {last: call(architecture, last, again)})
    with pytest.raises(InputError, match=r"several functions that __.* at 0x36[04], 0x36[04]; "):
        find(twice)
    assert find(twice, f"{again:#x}").function.address == again


@pytest.mark.parametrize(("architecture", "path"), STRIPPED.items())
def test_nothing_to_be_found_by_code(architecture: str, path: str) -> None:
    image = image_of(path)
    function = find(image).function
    emptied = with_words(image, {function.address: RETURN[architecture]})
    with pytest.raises(InputError, match=r"nothing that __.* calls builds .*; name the function"):
        find(emptied)
    undecodable = with_words(image, {function.address: 0})
    with pytest.raises(InputError, match=r"constants; 0x360: .*decode.*; name the function"):
        find(undecodable)


def symbol(name: str, address: int, size: int = 16) -> Symbol:
    return Symbol(name, address, size, is_function=True, exported=False)


def test_symbols() -> None:
    image = image_of(LOONGARCH)
    elf = image.elf
    twice = changed(image, symbols=(*elf.symbols, symbol(SYMBOL, 0x400)))
    with pytest.raises(InputError, match=f"several functions {SYMBOL}, at 0x360, 0x400; choose"):
        find(twice)
    # Both symbol tables may have it, one of them without its size.
    same = changed(image, symbols=(symbol(SYMBOL, 0x360, 0), *elf.symbols))
    assert find(same) == find(image)
    # One in data is none.
    data = changed(image, symbols=(*elf.symbols, symbol(SYMBOL, 0x10)))
    assert find(data) == find(image)


def test_symbol_without_size() -> None:
    image = image_of(LOONGARCH)
    function = find(image).function
    sizeless = changed(image, symbols=(symbol(SYMBOL, function.address, 0),))
    found = find(sizeless).function
    assert (found.address, found.size) == (function.address, function.size)
    assert found.located.endswith("its end is that of its control flow")
    cut = changed(with_words(image, {function.address: 0}), symbols=sizeless.elf.symbols)
    with pytest.raises(InputError, match="the function at 0x360 cannot be read; 0x360: "):
        find(cut)


BY_HAND = {
    (LOONGARCH, SYMBOL): (SYMBOL, 0x360, 868),
    (LOONGARCH, "0x360"): (SYMBOL, 0x360, 868),
    (LOONGARCH, "0X360"): (SYMBOL, 0x360, 868),
    (LOONGARCH, "0x364"): ("0x364", 0x364, 864),
    (LOONGARCH, "__vdso_getrandom"): ("__vdso_getrandom", 0x300, 96),
    (STRIPPED["loongarch64"], "0x360"): ("0x360", 0x360, 868),
    (STRIPPED["powerpc64le"], "0x360"): ("0x360", 0x360, 4284),
}


@pytest.mark.parametrize("asked", [None, SYMBOL, "descriptor", "code"])
def test_descriptor(asked: str | None) -> None:
    """A function of PowerPC's ELFv1 is found by its name, its descriptor and its code."""
    image = image_of("binaries/powerpc64/looped.so")
    (symbol,) = (one for one in image.elf.symbols if one.name == SYMBOL)
    descriptor = symbol.descriptor
    assert descriptor is not None
    places = {"descriptor": f"{descriptor.address:#x}", "code": f"{descriptor.code:#x}"}
    function = find(image, places.get(asked or "", asked)).function
    assert (function.name, function.address, function.size) == (SYMBOL, symbol.address, symbol.size)
    assert function.toc == descriptor.toc == 0x8000
    assert (f"{descriptor.address:#x}" in function.located) is (asked != "code")
    stripped = find(
        image_of("binaries/powerpc64/looped.stripped.so"), None if asked is None else "0x310"
    )
    assert (stripped.function.address, stripped.function.toc) == (symbol.address, 0x8000)


@pytest.mark.parametrize(("asked", "found"), BY_HAND.items())
def test_by_hand(asked: tuple[str, str], found: tuple[str, int, int]) -> None:
    path, text = asked
    function = find(image_of(path), text).function
    assert (function.name, function.address) == found[:2]
    if text != "__vdso_getrandom":
        assert function.size == found[2]


WRONG = {
    "outside": (LOONGARCH, "0x10", r"0x10 is outside the text \(\.text 0x300\.\.0x6c4\)"),
    "behind": (LOONGARCH, "0x6c4", "outside the text"),
    "far": (POWERPC, "0x" + "f" * 40, "outside the text"),
    "between": (POWERPC, "0x362", "no instruction begins at 0x362"),
    "unknown": (POWERPC, "chacha", r"no function 'chacha'; functions are __arch_chacha20_.*, __k"),
    "no number": (POWERPC, "0xyz", "no function '0xyz'"),
    "no hexadecimal": (POWERPC, "864", "no function '864'"),
    "empty": (POWERPC, "", "no function ''"),
    "odd": (POWERPC, "a\nb", r"no function 'a\\nb'"),
}


@pytest.mark.parametrize(("path", "function", "reason"), WRONG.values(), ids=WRONG.keys())
def test_wrong_by_hand(path: str, function: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as error:
        find(image_of(path), function)
    assert str(error.value).startswith("file: ")
    assert str(error.value).isprintable()


def elf_image(data: bytes) -> Image:
    (image,) = images_in(data, "x")
    return image


EM_SPARCV9 = 43
MACHINES = {
    "SPARC": (EM_SPARCV9, elves.Format(), "machine EM_SPARCV9, 64-bit, little-endian is not s"),
    "big-endian": (258, elves.Format(little=False), "machine EM_LOONGARCH, 64-bit, big-endian is"),
    "wrong class": (258, elves.Format(bits=32), "machine EM_LOONGARCH, 32-bit, little-endian is"),
    "no such ABI": (21, elves.Format(), "EM_PPC64, 64-bit, little-endian, e_flags 0x43 is not"),
    "unheard of": (4321, elves.Format(), "machine EM_4321, "),
}


@pytest.mark.parametrize(("machine", "layout", "reason"), MACHINES.values(), ids=MACHINES.keys())
def test_unsupported_machine(machine: int, layout: elves.Format, reason: str) -> None:
    image = elf_image(elves.shared_object(machine=machine, layout=layout))
    with pytest.raises(InputError, match=reason) as error:
        find(image)
    supported = ", ".join(architecture.title for architecture in ARCHITECTURES)
    assert str(error.value).endswith(f"; supported are {supported}")


def test_relocatable_object() -> None:
    image = elf_image(elves.relocatable_object(layout=elves.Format()))
    target = find(image)
    assert (target.function.name, target.function.size) == (SYMBOL, 48)
    assert target.relocations == image.elf.relocations != ()
    with pytest.raises(InputError, match=f"no function {SYMBOL}, and no exported getrandom; name"):
        find(changed(image, symbols=()))


def test_code_that_is_not_what_is_in_the_file() -> None:
    image = image_of(LOONGARCH)
    elf: Elf = image.elf
    writable = tuple(dataclasses.replace(s, writable=True) for s in elf.segments)
    with pytest.raises(InputError, match=r"0x360\.\.0x6c4 is not wholly in a segment that is"):
        find(changed(image, segments=writable))
    cut = tuple(dataclasses.replace(s, data=s.data[:0x400]) for s in elf.segments)
    with pytest.raises(InputError, match="is not wholly in a segment"):
        find(changed(image, segments=cut))


def test_errors_name_the_image_in_a_container() -> None:
    (image,) = images_in(elves.vmlinux(elves.shared_object(machine=EM_SPARCV9)), "x")
    with pytest.raises(InputError, match=r"^file: ELF at 0x[0-9a-f]+: machine EM_SPARCV9"):
        find(image)
