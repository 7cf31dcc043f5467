"""What the contracts of the functions that a getrandom calls ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.getrandom.adversaries import FEW, entry_of, setting_in, target_in
from tests.history.programs import BINARIES
from verify.getrandom.prove import prove_getrandom
from verify.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

JALR_RA, LINKS = 0x0000_80E7, 0x000F_FFFF
"""RISC-V: jalr ra, offset(ra), without the offset."""
RA, T0 = 1 << 7, 5 << 7


def _moving_sp(change: int) -> bytes:
    """LoongArch: addi.d sp, sp, change."""
    return (0x02C0_0063 | (change & 0xFFF) << 10).to_bytes(4, "little")


def test_chacha20_returns_to_where_its_caller_says(tmp_path: Path) -> None:
    """It returns to ra, and not behind a call that leaves the address in t0."""
    good = BINARIES / "riscv64/getrandom.so"
    setting = setting_in(good)
    code = [
        setting.target.code(at, 4) or b""
        for block in setting.flow.blocks.values()
        for at in block.instructions
    ]
    call = next(one for one in code if int.from_bytes(one, "little") & LINKS == JALR_RA)
    other = (int.from_bytes(call, "little") ^ RA ^ T0).to_bytes(4, "little")
    path = tmp_path / "elsewhere.so"
    path.write_bytes(good.read_bytes().replace(call, other))
    results = prove_getrandom(target_in(path), entry_of(path), more=FEW)
    assert {one.verdict for one in results} == {Verdict.UNKNOWN}
    assert all("does not return behind its call" in one.reason for one in results)


@pytest.mark.parametrize(
    ("architecture", "frames", "verdict", "reason"),
    [
        (
            "x86_64",
            (
                (b"\x48\x83\xec\x28", b"\x48\x83\xec\x30"),
                (b"\x48\x83\xc4\x28", b"\x48\x83\xc4\x30"),
            ),
            Verdict.PROVED,
            "",
        ),
        (
            "loongarch64",
            ((_moving_sp(-112), _moving_sp(-120)), (_moving_sp(112), _moving_sp(120))),
            Verdict.UNKNOWN,
            "the stack is not aligned at the call of ChaCha20",
        ),
    ],
    ids=["x86_64", "loongarch64"],
)
def test_a_stack_that_is_aligned_to_8_bytes_at_the_call(
    tmp_path: Path,
    architecture: str,
    frames: tuple[tuple[bytes, bytes], ...],
    verdict: Verdict,
    reason: str,
) -> None:
    """It is what kernels are compiled with for x86-64, and no other processor."""
    content = (BINARIES / architecture / "getrandom.so").read_bytes()
    for old, new in frames:
        assert content.count(old) == 1
        content = content.replace(old, new)
    path = tmp_path / "aligned-to-8.so"
    path.write_bytes(content)
    results = prove_getrandom(target_in(path), entry_of(path), more=FEW)
    assert {one.verdict for one in results} == {verdict}
    assert all(reason in one.reason for one in results)
