"""What the contracts of the functions that a getrandom calls ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from specs.opaque_state import KEY_OFFSET
from tests.getrandom.adversaries import FEW, entry_of, setting_in, target_in
from tests.history.programs import BINARIES
from verify.getrandom.prove import prove_getrandom
from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.contracts import chacha20
from verify.getrandom.walk.setting import entry_machine, memory_of
from verify.lift.memory import STACK
from verify.terms import Linear, add, const, var, variables
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


@pytest.mark.parametrize("architecture", ["s390x", "powerpc64le"])
@pytest.mark.parametrize("inside", [True, False])
def test_what_lies_where_chacha20_may_save_registers(architecture: str, *, inside: bool) -> None:
    """It may leave that there, and in a register."""
    setting = setting_in(BINARIES / f"{architecture}/getrandom.so")
    machine, bits, frame = entry_machine(setting), setting.bits, -512
    at, size = setting.architecture.linkage_area[0]
    stack = memory_of(machine).region(STACK, Linear(bits, 0))
    secret = var("secret", 8)
    stack.write(frame + at + (0 if inside else size), machine.converter.leaf(secret))
    pointer = setting.argument("sp")
    given = (
        setting.argument("buffer"),
        add(setting.argument("opaque_state"), const(KEY_OFFSET, bits)),
        add(pointer, const(-8, bits)),
        const(1, bits),
    )
    for register, value in zip(setting.architecture.arguments, given, strict=False):
        setting.write(machine, register, value)
    setting.write(machine, setting.architecture.return_address, const(machine.pc, bits))
    setting.write(machine, setting.architecture.stack_pointer, add(pointer, const(frame, bits)))
    chacha20(setting, machine, (), Questions())
    origins = memory_of(machine).origins
    left = [
        setting.read(machine, setting.architecture.arguments[0]),
        machine.converter.term(stack.read(frame + at, size)),
    ]
    assert [secret in origins.reached(variables([one])) for one in left] == [inside, inside]
