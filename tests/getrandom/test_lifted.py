"""Which instructions of a getrandom have to be compared with QEMU, and what is said of those that
were not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.getrandom.adversaries import Adversary
from tests.history.programs import BINARIES, EACH_ONCE
from verify.batch import targets_in
from verify.getrandom.claims import Claim
from verify.getrandom.lifted import lifted
from verify.getrandom.result import nothing_said, prove_variant, unchecked
from verify.options import PROPERTIES_OF, Options
from verify.target import Target
from verify.validate import unchecked_forms
from verify.verdict import Caveat, Contract, Result

if TYPE_CHECKING:
    from pathlib import Path

LOONGARCH64 = BINARIES / "loongarch64/getrandom.so"
STUB = BINARIES / "loongarch64/looped.so"
OPTIONS = Options(PROPERTIES_OF[Contract.GETRANDOM], replay=False, contract=Contract.GETRANDOM)
# LoongArch Reference Manual, volume 1: syscall 0, dbar, and amadd.w $a0, $a2, $a1.
SYSTEM_CALL, BARRIER, BARRIER_MASK, AMADD = 0x002B0000, 0x38720000, 0xFFFF8000, 0x386118A4
MORE = Adversary(
    "adds-in-memory",
    Claim.STREAM,
    "\tONCE(state->in_use) = 1;\n",
    f'\t__asm__ volatile(".word {AMADD:#x}" : : : "memory");\n\tONCE(state->in_use) = 1;\n',
)


def getrandom_in(path: Path) -> Target:
    (target,) = targets_in(str(path), None, Contract.GETRANDOM)
    assert isinstance(target, Target)
    return target


def not_compared(result: Result) -> list[str]:
    """The findings on forms that were not compared, those of ChaCha20 among them."""
    return [one for one in result.findings if "not compared with QEMU" in one]


SUPPORTED = [
    name for name in EACH_ONCE if getrandom_in(BINARIES / f"{name}.so").architecture.getrandom_port
]


def test_all_but_what_has_a_contract() -> None:
    target = getrandom_in(LOONGARCH64)
    words = [int.from_bytes(target.code(at, 4) or b"", "little") for at in lifted(target)]
    function, callee = target.function, target.callee
    assert callee is not None
    every = [
        int.from_bytes(target.code(at, 4) or b"", "little")
        for at in range(function.address, function.address + function.size, 4)
    ]
    contracts = {one for one in every if one == SYSTEM_CALL or one & BARRIER_MASK == BARRIER}
    assert len(contracts) >= 2
    assert set(every) - contracts == set(words)
    assert not set(lifted(target)) & set(range(callee.address, callee.address + callee.size))


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_record_has_every_form(name: str) -> None:
    assert unchecked(getrandom_in(BINARIES / f"{name}.so")) == ()


def test_a_form_that_was_not_compared_is_named(tmp_path: Path) -> None:
    target = getrandom_in(MORE.path(tmp_path, "loongarch64"))
    (form,) = unchecked(target) or ()
    assert form.startswith("38610000/ffff8000 at 0x")
    assert unchecked_forms(target, [int(form.rpartition(" ")[2], 16)]) == (form,)
    result = prove_variant(target, (), OPTIONS, lambda _: None)
    assert not_compared(result) == [f"not compared with QEMU: {form}"]
    assert Caveat.LIFTER_UNCHECKED in result.caveats


def test_the_caveat_goes_where_all_were() -> None:
    target = getrandom_in(STUB)
    result = prove_variant(target, (), OPTIONS, lambda _: None)
    assert not_compared(result) == []
    assert Caveat.LIFTER_UNCHECKED not in result.caveats
    assert Caveat.SOLVER_TRUSTED in result.caveats
    assert Caveat.LIFTER_UNCHECKED in nothing_said(target, OPTIONS, "no reason").caveats
