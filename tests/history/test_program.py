"""A program has what the kernel has made of its code."""

from __future__ import annotations

from tests.history.programs import BINARIES, program
from verify.arch.patching import Condition
from verify.history import program_in
from verify.image import open_images
from verify.target import Alternative


def test_alternatives_are_applied() -> None:
    before = program("x86_64/getrandom")
    (image,) = open_images(BINARIES / "x86_64/getrandom.so")
    at, *_ = sorted(before.system_calls)
    one = Alternative(at, b"\x90\x90", Condition())
    after = program_in(image, before.layout, (one,))
    assert after.system_calls == before.system_calls - {at}
    assert set(after.instructions) == {*before.instructions, at + 1}
    changed = [
        address + offset
        for (address, old), (_, new) in zip(before.segments, after.segments, strict=True)
        for offset, (left, right) in enumerate(zip(old, new, strict=True))
        if left != right
    ]
    assert changed == [at, at + 1]
