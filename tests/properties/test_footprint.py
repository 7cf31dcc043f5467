"""Constant addresses belong to the image only if they move with it."""

from __future__ import annotations

from dataclasses import replace

from tests.proving import BINARIES
from verify.batch import targets_in
from verify.errors import InputError
from verify.options import Options
from verify.run import prove
from verify.target import Target
from verify.verdict import Verdict

CLEARS_T0 = 0x66C
LOAD_FROM_ENTRY = 0x28800000 | 0x360 << 10 | 12
"""ld.w $t0, $zero, 0x360: an absolute address at which the file, but no mapped image, has code."""
CONSTANTS = 0x36C
"""Of lsx: addi.d, which makes the address of its constants."""
ONLY_64_BITS = 1 << 22
"""The bit that makes an addi.d of an addi.w."""


def with_word(target: Target, address: int, word: int) -> Target:
    """The target with other bytes for one instruction."""
    data = bytearray(target.segments[0].data)
    data[address : address + 4] = word.to_bytes(4, "little")
    return replace(target, segments=(replace(target.segments[0], data=bytes(data)),))


def test_an_absolute_address_is_not_in_the_image() -> None:
    (target,) = targets_in(str(BINARIES / "loongarch64" / "looped.so"), None)
    assert not isinstance(target, InputError)
    faulty = with_word(target, CLEARS_T0, LOAD_FROM_ENTRY)
    (found,) = prove(faulty, Options(properties=("footprint",))).properties
    assert found.verdict is Verdict.REFUTED
    failed = [check for check in found.checks if check.verdict is Verdict.REFUTED]
    assert [check.id for check in failed] == ["footprint/read/code/position-independent"]
    assert failed[0].instructions == (CLEARS_T0,)


def test_half_an_address_is_none() -> None:
    (target,) = targets_in(str(BINARIES / "loongarch64" / "lsx.so"), None)
    assert not isinstance(target, InputError)
    word = int.from_bytes(target.code(CONSTANTS, 4) or b"", "little")
    faulty = with_word(target, CONSTANTS, word & ~ONLY_64_BITS)
    for one, verdict in ((target, Verdict.PROVED), (faulty, Verdict.REFUTED)):
        (found,) = prove(one, Options(properties=("footprint",))).properties
        assert found.verdict is verdict
