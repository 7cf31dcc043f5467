"""The good programs do what the specification says, under QEMU, and leave no trace of the key."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from tests.binaries.execution import (
    ROOT,
    breaches,
    execute,
    random_calls,
    unpreserved,
)

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = sorted(
    path
    for arch in ("loongarch64", "powerpc64le")
    for path in (ROOT / "binaries" / arch).glob("*.so")
    if not path.name.endswith(".stripped.so")
)


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

    def test_stripped_file_has_the_same_code(self, path: Path) -> None:
        manifest = json.loads((ROOT / "binaries" / "manifest.json").read_text())
        files = {entry["path"]: entry for entry in manifest["files"]}
        name = path.relative_to(ROOT).as_posix()
        place = files[name]["function"]
        stripped = path.with_suffix(".stripped.so")
        assert files[stripped.relative_to(ROOT).as_posix()]["function"] == place
        start, end = place["address"], place["address"] + place["size"]
        assert path.read_bytes()[start:end] == stripped.read_bytes()[start:end]
