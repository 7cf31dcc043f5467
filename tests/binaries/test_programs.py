"""The good programs do what the specification says, under QEMU, and leave no trace of the key."""

from __future__ import annotations

import dataclasses
import json
import random
import struct
from typing import TYPE_CHECKING

import pytest

from specs import chacha20
from tests.binaries.execution import (
    DST,
    KEY,
    ROOT,
    STACK,
    STACK_POINTER,
    architecture,
    breaches,
    execute,
    executed_path,
    function,
    random_calls,
    unpreserved,
)
from verify import qemu

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = sorted(
    path
    for arch in ("loongarch64", "powerpc64le")
    for path in (ROOT / "binaries" / arch).glob("*.so")
    if not path.name.endswith(".stripped.so")
)

# Name, result register and argument registers of the exported entry.
ENTRIES = {
    "loongarch64": ("__vdso_getrandom", "a0", ("a0", "a1", "a2", "a3", "a4")),
    "powerpc64le": ("__kernel_getrandom", "r3", ("r3", "r4", "r5", "r6", "r7")),
}


def test_every_architecture_has_two_styles() -> None:
    assert len(PROGRAMS) == 4


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
class TestProgram:
    def test_computes_chacha20_and_touches_nothing_else(self, path: Path) -> None:
        for done in execute(path, random_calls(path.stem, 64)):
            assert breaches(done) == set(), done.call

    def test_key_may_be_overwritten_by_the_last_block(self, path: Path) -> None:
        for done in execute(path, random_calls(path.stem, 16, in_place=True)):
            assert breaches(done) == set(), done.call

    def test_registers_at_return_do_not_depend_on_the_key(self, path: Path) -> None:
        calls = random_calls(path.stem, 16)
        other = [dataclasses.replace(call, key=call.key[::-1]) for call in calls]
        for one, two in zip(execute(path, calls), execute(path, other), strict=True):
            assert unpreserved(one) == unpreserved(two)

    def test_path_does_not_depend_on_the_key(
        self, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (call,) = random_calls(path.stem, 1)
        one, two = (
            executed_path(path, dataclasses.replace(call, key=key), tmp_path, monkeypatch)
            for key in ((0,) * 8, (2**32 - 1,) * 8)
        )
        assert one == two

    @pytest.mark.parametrize(
        ("size", "state_size", "returned"),
        [(0, 144, 0), (63, 144, 0), (64, 144, 64), (1023, 144, 960), (64, 143, -22), (64, 0, -22)],
    )
    def test_exported_entry_of_the_stripped_file(
        self, path: Path, size: int, state_size: int, returned: int
    ) -> None:
        arch = architecture(path)
        name, result, arguments = ENTRIES[arch]
        code, entry = function(path.with_suffix(".stripped.so"), name, ".dynsym")
        key = random.Random(path.stem).randbytes(32)
        values = (DST, size, 0, KEY - 96, state_size)
        registers = dict(zip(arguments, values, strict=True)) | {STACK_POINTER[arch]: STACK}
        case = qemu.Case(
            registers=registers,
            memory=((KEY, key), (STACK - 4096, bytes(8192))),
            observe=((DST, size + 64),),
        )
        (outcome,) = qemu.run(arch, [code], entry, [case], timeout=10)
        assert outcome.signal is None
        assert outcome.registers[result] == returned % 2**64
        assert outcome.registers[STACK_POINTER[arch]] == STACK
        stream = chacha20.stream(struct.unpack("<8I", key), 0, max(0, returned) // 64)
        assert outcome.memory[0] == stream.ljust(size + 64, b"\0")

    def test_stripped_file_has_the_same_code(self, path: Path) -> None:
        manifest = json.loads((ROOT / "binaries" / "manifest.json").read_text())
        files = {entry["path"]: entry for entry in manifest["files"]}
        name = path.relative_to(ROOT).as_posix()
        place = files[name]["function"]
        stripped = path.with_suffix(".stripped.so")
        assert files[stripped.relative_to(ROOT).as_posix()]["function"] == place
        start, end = place["address"], place["address"] + place["size"]
        assert path.read_bytes()[start:end] == stripped.read_bytes()[start:end]
