"""Nothing that is proved depends on where the image is mapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.getrandom.adversaries import FEW, entry_of, target_in
from tests.getrandom.declines import ALL, DECLINES, NOP, proved
from tests.history.programs import BINARIES
from verify.getrandom.prove import prove_getrandom
from verify.getrandom.walk.mapped import ImageConverter, address_in, base_of, mapped
from verify.terms import add, const, var
from verify.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

HERE = 0x1000_0009  # adr x9: to itself
CLEAR, SET = 0x36A0_0049, 0x37A0_0049  # tbz x9, #20; tbnz x9, #20: past the next
RETURN = 0xD65F_03C0  # ret


@pytest.mark.parametrize("branch", [CLEAR, SET], ids=["clear", "set"])
def test_a_bit_of_its_own_address(branch: int) -> None:
    assert proved((NOP, HERE, branch, NOP, *DECLINES), NOP) == ALL
    assert "fallback" not in proved((NOP, HERE, branch, RETURN, *DECLINES), NOP)


@pytest.mark.parametrize(
    ("architecture", "whole", "half"),
    [
        ("loongarch64", "0400001a8700c002", "0400001a87008002"),  # pcalau12i; addi.d, addi.w
        ("riscv64", "970c0000938c0cc3", "970c00009b8c0cc3"),  # auipc; addi, addiw
    ],
)
def test_half_of_its_address(architecture: str, whole: str, half: str, tmp_path: Path) -> None:
    data = (BINARIES / f"{architecture}/getrandom.so").read_bytes()
    assert data.count(bytes.fromhex(whole)) == 1
    path = tmp_path / "half.so"
    path.write_bytes(data.replace(bytes.fromhex(whole), bytes.fromhex(half)))
    found = prove_getrandom(target_in(path), entry_of(path), more=FEW)
    assert {one.verdict for one in found} == {Verdict.UNKNOWN}


def test_where_it_is_read_follows_from_its_bytes() -> None:
    names = ("loongarch64", "riscv64", "powerpc")
    targets = [target_in(BINARIES / f"{name}/getrandom.so") for name in names]
    bases = [base_of(target) for target in targets]
    assert len(set(bases)) == len(bases)
    for base, target in zip(bases, targets, strict=True):
        assert base % 0x1_0000 == 0
        assert base.bit_length() == target.architecture.bits - 1


@pytest.mark.parametrize("bits", [32, 64])
def test_an_address_goes_with_the_image(bits: int) -> None:
    base = base_of(target_in(BINARIES / "powerpc/getrandom.so")) << bits - 32
    converter = ImageConverter(base, bits)
    for near in (base - 0x8000, base, base + 0x1234):
        leaf, term = converter.bind(converter.leaf(const(near, bits)))
        assert converter.term(leaf) is term is add(const(near, bits), mapped(bits))
        assert address_in(term) == near
    for far in (0, 5, (1 << bits) - 1, base + (base >> 1)):
        assert converter.bind(converter.leaf(const(far, bits)))[1] is const(far, bits)
    other = add(var("other", bits), mapped(bits))
    assert address_in(other) is None
