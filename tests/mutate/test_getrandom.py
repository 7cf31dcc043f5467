"""Mutants of a complete getrandom: which there are, and what is said of single ones."""

from __future__ import annotations

from functools import cache

import pytest

from tests.history.programs import BINARIES
from verify.batch import targets_in
from verify.mutate.command import instructions_of
from verify.mutate.equivalence import equivalence
from verify.mutate.judge import judge_with_equivalence
from verify.mutate.model import Judgement, Mutant, Operator
from verify.mutate.operators import mutants_of
from verify.options import PROPERTIES_OF, Options
from verify.target import Target
from verify.verdict import Contract, Verdict

OPTIONS = Options(PROPERTIES_OF[Contract.GETRANDOM], contract=Contract.GETRANDOM)
MAIN = ("loongarch64", "powerpc64le")


@cache
def target_of(architecture: str) -> Target:
    """Its complete getrandom."""
    path = BINARIES / architecture / "getrandom.so"
    (target,) = targets_in(str(path), None, Contract.GETRANDOM)
    assert isinstance(target, Target)
    return target


@cache
def mutants(architecture: str) -> tuple[Mutant, ...]:
    target = target_of(architecture)
    return mutants_of(target, instructions_of(target))


def word(target: Target, address: int) -> int:
    code = target.code(address, 4)
    assert code is not None
    return int.from_bytes(code, "little")


@pytest.mark.parametrize("architecture", MAIN)
def test_the_code_around_chacha20_is_changed(architecture: str) -> None:
    target = target_of(architecture)
    called = target.callee
    assert called is not None
    addresses = {mutant.address for mutant in mutants(architecture)}
    assert addresses.isdisjoint(range(called.address, called.address + called.size))
    assert target.function.address in addresses
    calls = target.architecture.system_calls.instruction
    assert any(target.code(address, len(calls)) == calls for address in addresses)


def judged(architecture: str, mutant: Mutant) -> Judgement:
    return judge_with_equivalence(target_of(architecture), mutant, OPTIONS)


def test_a_register_that_is_not_saved() -> None:
    """st.d of one of s0 to s8 to the stack"""
    target = target_of("loongarch64")
    save = next(
        mutant
        for mutant in mutants("loongarch64")
        if mutant.operator is Operator.DELETE
        and word(target, mutant.address) & 0xFFC0_03E0 == 0x29C0_0060
        and word(target, mutant.address) & 31 >= 23
    )
    found = judged("loongarch64", save)
    assert (found.verdict, found.refuted_by, found.open) == (Verdict.REFUTED, "abi", False)
    assert found.reason.startswith("call 0: it does not restore s")


def swapped_stores(architecture: str, *, on_stack: bool) -> list[Mutant]:
    """The swaps of two neighbouring stores, both to the stack or both to something else."""
    target = target_of(architecture)

    def is_one(code: int) -> bool:
        if architecture == "loongarch64":
            # st.b to st.d; sp is 3
            return code >> 24 == 0x29 and (code >> 5 & 31 == 3) is on_stack
        # stw, stb and std, but not stdu
        stores = code >> 26 in (36, 38) or (code >> 26 == 62 and code & 3 == 0)
        return stores and (code >> 16 & 31 == 1) is on_stack

    return [
        mutant
        for mutant in mutants(architecture)
        if mutant.operator is Operator.SWAP
        and all(is_one(word(target, at)) for at in (mutant.address, mutant.address + 4))
    ]


@pytest.mark.parametrize("architecture", MAIN)
def test_the_order_of_stores_counts_but_on_the_stack(architecture: str) -> None:
    target = target_of(architecture)
    for on_stack in (False, True):
        found = swapped_stores(architecture, on_stack=on_stack)
        assert found
        for mutant in found[:2]:
            argument = equivalence(target, mutant.applied(target), Contract.GETRANDOM)
            assert bool(argument) is on_stack


@pytest.mark.usefixtures("without_qemu")
def test_without_qemu_it_is_unknown() -> None:
    deleted = next(m for m in mutants("loongarch64") if m.operator is Operator.DELETE)
    found = judged("loongarch64", deleted)
    assert found.verdict is Verdict.UNKNOWN
    assert "sudo apt-get install qemu-user" in found.reason
    assert found.open
