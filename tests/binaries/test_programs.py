"""The good programs do what the specification says, under QEMU, and leave no trace of the key."""

from __future__ import annotations

import dataclasses
import json
import random
import struct
from typing import TYPE_CHECKING

import pytest

from binaries.products import load_builds
from specs import chacha20
from tests.binaries.execution import (
    ROOT,
    executed_path,
    leaves_secrets_in_registers,
    random_calls,
    target,
)
from verify import qemu
from verify.image import open_images
from verify.witness import search

if TYPE_CHECKING:
    from pathlib import Path

BUILDS = load_builds(ROOT / "binaries")
PROGRAMS = [
    f"binaries/{name}/{program}.so" for name, build in BUILDS.items() for program in build.programs
]

# Name, result register and argument registers of the exported entry.
ENTRIES = {
    "arm64": ("__kernel_getrandom", "x0", ("x0", "x1", "x2", "x3", "x4")),
    "arm64be": ("__kernel_getrandom", "x0", ("x0", "x1", "x2", "x3", "x4")),
    "loongarch64": ("__vdso_getrandom", "a0", ("a0", "a1", "a2", "a3", "a4")),
    "powerpc": ("__kernel_getrandom", "r3", ("r3", "r4", "r5", "r6", "r7")),
    "powerpc64": ("__kernel_getrandom", "r3", ("r3", "r4", "r5", "r6", "r7")),
    "powerpc64elfv2": ("__kernel_getrandom", "r3", ("r3", "r4", "r5", "r6", "r7")),
    "powerpc64le": ("__kernel_getrandom", "r3", ("r3", "r4", "r5", "r6", "r7")),
    "riscv64": ("__vdso_getrandom", "a0", ("a0", "a1", "a2", "a3", "a4")),
    "s390x": ("__kernel_getrandom", "r2", ("r2", "r3", "r4", "r5", "r6")),
    "x86_64": ("__vdso_getrandom", "rax", ("rdi", "rsi", "rdx", "rcx", "r8")),
}


CODE = 0x40_0000
BUFFER = 0x100_0100
STATE = 0x200_0040
STACK = 0x7FF_8000


def stripped(path: str) -> str:
    """The path of the stripped file of a program."""
    return path.removesuffix(".so") + ".stripped.so"


def test_every_architecture_has_two_styles() -> None:
    assert BUILDS.keys() == ENTRIES.keys()
    assert all(len(build.programs) >= 2 for build in BUILDS.values())


@pytest.mark.parametrize("style", BUILDS["powerpc64"].programs)
def test_elfv2_has_the_code_of_elfv1(style: str) -> None:
    """So that the faults of the one need not be made for the other."""
    one, two = (target(f"binaries/{name}/{style}.so") for name in ("powerpc64", "powerpc64elfv2"))
    assert one.function_bytes == two.function_bytes
    assert one.architecture.abi != two.architecture.abi


@pytest.mark.parametrize("path", PROGRAMS)
class TestProgram:
    def test_computes_chacha20_and_touches_nothing_else(self, path: str) -> None:
        binary = target(path)
        assert search(binary) == ()
        more = random_calls(path, 160) + random_calls(path, 40, in_place=True)
        assert search(binary, more) == ()

    def test_registers_at_return_do_not_depend_on_the_key(self, path: str) -> None:
        assert not leaves_secrets_in_registers(target(path), random_calls(path, 16))

    def test_path_does_not_depend_on_the_key(
        self, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (call,) = random_calls(path, 1)
        one, two = (
            executed_path(target(path), dataclasses.replace(call, key=key), tmp_path, monkeypatch)
            for key in ((0,) * 8, (2**32 - 1,) * 8)
        )
        assert one == two

    @pytest.mark.parametrize(
        ("size", "state_size", "returned"),
        [(0, 144, 0), (63, 144, 0), (64, 144, 64), (1023, 144, 960), (64, 143, -22), (64, 0, -22)],
    )
    def test_exported_entry_of_the_stripped_file(
        self, path: str, size: int, state_size: int, returned: int
    ) -> None:
        architecture = target(path).architecture
        name, result, arguments = ENTRIES[architecture.name]
        (image,) = open_images(ROOT / stripped(path))
        assert image.elf.getrandom is not None
        assert image.elf.getrandom.name == name
        code = [(CODE + part.address, part.data) for part in image.elf.segments]
        key = random.Random(path).randbytes(32)
        values = (BUFFER, size, 0, STATE, state_size)
        registers = dict(zip(arguments, values, strict=True)) | {architecture.stack_pointer: STACK}
        popped = architecture.popped_at_return
        back = qemu.MACHINES[architecture.name].space.returned
        returned_to = back.to_bytes(8, "little")[:popped]
        case = qemu.Case(
            registers=registers,
            memory=((STATE + 96, key), (STACK - 4096, bytes(8192)), (STACK, returned_to)),
            observe=((BUFFER, size + 64),),
        )
        entry = CODE + image.elf.getrandom.address
        (outcome,) = qemu.run(architecture.name, code, entry, [case], timeout=10)
        assert outcome.signal is None
        assert outcome.registers[result] == returned % 2**architecture.bits
        assert outcome.registers[architecture.stack_pointer] == STACK + popped
        words = struct.unpack(f"{qemu.MACHINES[architecture.name].order}8I", key)
        stream = chacha20.stream(words, 0, max(0, returned) // 64)
        assert outcome.memory[0] == stream.ljust(size + 64, b"\0")

    def test_stripped_file_has_the_same_code(self, path: str) -> None:
        manifest = json.loads((ROOT / path).with_name("manifest.json").read_text())
        files = {entry["path"]: entry for entry in manifest["files"]}
        place = files[path]["function"]
        assert files[stripped(path)]["function"] == place
        start, end = place["address"], place["address"] + place["size"]
        one, two = ((ROOT / name).read_bytes()[start:end] for name in (path, stripped(path)))
        assert one == two == target(path).function_bytes
