"""Every variant that the kernel makes of a function is proved, and nothing else is said of it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from tests.proving import target_of
from tests.tables import STEP, Patchable, faulty, with_step
from verify import qemu
from verify.arch.patching import Condition
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.target import Alternative, Target, Variant
from verify.verdict import AS_BUILT, Caveat, Result, Verdict

import_angr()

from verify.lift.machine import Unsupported  # noqa: E402
from verify.run import prove  # noqa: E402
from verify.variants import MOST_FEATURES, variants_of  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

OUTPUT = Options(properties=("output", "stack"))


def verdicts(result: Result) -> dict[str, dict[str, str]]:
    """The verdict of each property in each variant."""
    return {
        variant.name: {one.property: one.verdict.value for one in variant.verdicts}
        for variant in result.variants
    }


NAMES = {
    "arm64": "capability 26",
    "loongarch64": "cpu feature 26",
    "powerpc64le": "cpu feature bit 26",
    "riscv64": "cpu feature 26",
    "s390x": "facility 26",
    "x86_64": "cpu feature 0*32+26",
}


@pytest.mark.parametrize("architecture", STEP)
def test_a_fault_that_only_the_kernel_puts_in(architecture: str, tmp_path: Path) -> None:
    target = faulty(architecture).target(tmp_path)
    result = prove(target, OUTPUT)
    name = NAMES[architecture]
    assert verdicts(result) == {
        AS_BUILT: {"output": "PROVED", "stack": "PROVED"},
        name: {"output": "REFUTED", "stack": "PROVED"},
    }
    output, stack = result.properties
    assert (output.verdict, output.variant) == (Verdict.REFUTED, name)
    assert output.counterexample is not None
    assert output.counterexample.executed_by.startswith("qemu")
    assert (stack.verdict, stack.variant) == (Verdict.PROVED, "")
    assert Caveat.CODE_UNPATCHED not in result.caveats
    built, patched = result.variants
    assert built.function_sha256 == result.target.function_sha256 != patched.function_sha256
    (patch,) = patched.patches
    address, size = target.function.address, target.function.size
    assert address < patch.address < address + size


SHORTER = {
    "powerpc64le": Patchable("powerpc64le", 2 * with_step("powerpc64le", 32), STEP["powerpc64le"]),
    "x86_64": Patchable("x86_64", 2 * with_step("x86_64", 32), "\tlea\t64(dst), dst\n"),
}


@pytest.mark.parametrize("architecture", SHORTER)
def test_a_shorter_replacement_is_filled_up_with_nops(architecture: str, tmp_path: Path) -> None:
    result = prove(SHORTER[architecture].target(tmp_path), Options())
    assert result.verdict is Verdict.PROVED
    assert len(result.variants) == 2
    for one in result.properties:
        checks = [check.id for check in one.checks]
        assert len(set(checks)) == len(checks)
        assert any(check.endswith("@variant1") for check in checks)


def test_a_branch_in_a_replacement_is_refused(tmp_path: Path) -> None:
    old, new = 2 * with_step("x86_64", 32), "\tjmp\t.Lblocks_done\n"
    target = Patchable("x86_64", old, new).target(tmp_path)
    result = prove(target, OUTPUT)
    for one in result.properties:
        assert one.verdict is Verdict.UNKNOWN
        assert "depends on its address" in one.reason
        assert f"{target.alternatives[0].address:#x}: " in one.reason
    assert Caveat.CODE_UNPATCHED in result.caveats
    assert result.variants == ()


def condition(name: str, wanted: bool = True) -> Condition:
    return Condition(((name, wanted),))


def nop_at(target: Target, offset: int, when: Condition, refused: str = "") -> Alternative:
    """An alternative that changes nothing of the instruction there."""
    address = target.function.address + offset
    code = target.code(address, 4)
    assert code is not None
    return Alternative(address, code, when, refused)


def offering(target: Target, *alternatives: Alternative) -> Target:
    return dataclasses.replace(target, alternatives=alternatives)


def grown(target: Target) -> Target:
    """With bytes behind the function, which is the last one."""
    segments = (dataclasses.replace(one, data=one.data + 16 * b"\xc3") for one in target.segments)
    return dataclasses.replace(target, segments=tuple(segments))


TARGET = target_of("loongarch64/looped.so")


def names(*alternatives: Alternative) -> list[str]:
    return [variant.name for variant in variants_of(offering(TARGET, *alternatives))]


def test_combinations() -> None:
    first, again = (nop_at(TARGET, at, condition("a")) for at in (0, 8))
    second = nop_at(TARGET, 4, condition("b"))
    without = nop_at(TARGET, 12, condition("a", wanted=False))
    assert names() == [AS_BUILT]
    assert names(first, again) == [AS_BUILT, "a"]
    assert names(first, second) == [AS_BUILT, "b", "a", "a, b"]
    # With and without one feature, never both.
    assert names(first, without) == ["not a", "a"]
    assert names(nop_at(TARGET, 0, Condition())) == ["always"]
    assert names(nop_at(TARGET, 0, Condition(negated=True))) == [AS_BUILT]
    many = [nop_at(TARGET, 4 * n, condition(f"f{n}")) for n in range(MOST_FEATURES + 1)]
    assert len(names(*many[1:])) == 2**MOST_FEATURES
    with pytest.raises(Unsupported, match=r"5 features change the function \(f0, .* 1 more\)"):
        names(*many)


def test_the_later_alternative_of_two_prevails() -> None:
    first = Alternative(TARGET.function.address, b"\1\2\3\4", condition("a"))
    second = dataclasses.replace(first, code=b"\5\6", condition=condition("b"))
    patched = TARGET.patched(Variant((first, second)))
    assert patched.function_bytes[:5] == b"\5\6\3\4" + TARGET.function_bytes[4:5]
    assert patched.function_bytes[5:] == TARGET.function_bytes[5:]
    assert patched.alternatives == ()


def test_only_what_is_reached_counts() -> None:
    size = TARGET.function.size
    target = grown(TARGET)
    beside = [nop_at(target, at, condition("a"), "refused") for at in (-4, size)]
    assert [variant.name for variant in variants_of(offering(target, *beside))] == [AS_BUILT]
    last = nop_at(TARGET, size - 4, condition("a"), "refused")
    with pytest.raises(Unsupported, match=r"replaces this code \(a\), but refused"):
        names(last)


def test_code_that_only_a_patched_branch_reaches() -> None:
    """What lies behind a patched-in branch is part of the function, with its alternatives."""
    plain = grown(target_of("x86_64/looped.so"))
    size, address = plain.function.size, plain.function.address
    behind = address + size
    jump = b"\xe9" + (size - 5).to_bytes(4, "little")
    first = Alternative(address, jump, condition("a"))
    second = Alternative(behind, b"\xc3", condition("b"))
    target = offering(plain, first, second)
    assert [variant.name for variant in variants_of(target)] == [AS_BUILT, "b", "a", "a, b"]


def test_what_cannot_be_decoded_is_unknown_in_its_variant_alone() -> None:
    broken = Alternative(TARGET.function.address, bytes(4), condition("a"))
    result = prove(offering(TARGET, broken), OUTPUT)
    assert verdicts(result)[AS_BUILT] == {"output": "PROVED", "stack": "PROVED"}
    assert set(verdicts(result)["a"].values()) <= {"UNKNOWN", "REFUTED"}
    assert result.verdict is not Verdict.PROVED


def test_constants_that_the_kernel_may_change() -> None:
    target = target_of("x86_64/looped.so")
    constants = target.segments[0].data.index(b"expand 32-byte k")
    patch = Alternative(constants + 15, b"\x90", condition("a"))
    result = prove(offering(target, patch), OUTPUT)
    for one in result.properties:
        assert one.verdict is Verdict.UNKNOWN
        assert f"reads {constants:#x}, which the kernel may change (a)" in one.reason
    beside = dataclasses.replace(patch, address=constants + 16)
    assert prove(offering(target, beside), OUTPUT).verdict is Verdict.PROVED


def test_an_unreadable_table_leaves_everything_unknown() -> None:
    target = dataclasses.replace(TARGET, unusable="the table is of no known format")
    result = prove(target, OUTPUT)
    assert [one.verdict for one in result.properties] == [Verdict.UNKNOWN] * 2
    assert {one.reason for one in result.properties} == {target.unusable}
    assert Caveat.CODE_UNPATCHED in result.caveats


def test_an_architecture_whose_tables_are_not_known_keeps_the_caveat() -> None:
    target = dataclasses.replace(TARGET, patching_unknown="the tables are not known")
    result = prove(target, OUTPUT)
    assert result.verdict is Verdict.PROVED
    assert Caveat.CODE_UNPATCHED in result.caveats
    assert "may be patched: the tables are not known" in result.findings


def test_qemu_is_there() -> None:
    """Refutations above need it."""
    assert all(qemu.available(architecture) for architecture in STEP)
