"""Every variant that the kernel makes of a function is proved, and nothing else is said of it."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from tests.proving import BINARIES, target_of
from tests.tables import STEP, Patchable, faulty, with_step
from verify import qemu
from verify.arch.patching import Condition
from verify.batch import targets_in
from verify.image import Relocation, Section, images_in
from verify.lift.angr_import import import_angr
from verify.locate import find_target
from verify.options import Options
from verify.report.console import console_for
from verify.report.inspection import print_inspection
from verify.target import Alternative, Target, Variant
from verify.verdict import AS_BUILT, AS_RUNNING, Caveat, Result, Verdict

import_angr()

from verify.inspection import inspect  # noqa: E402
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
    "powerpc": "cpu feature bit 26",
    "powerpc64": "cpu feature bit 26",
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


def compiled(name: str, flags: tuple[str, ...], directory: Path) -> Target:
    """The looped program of an architecture as an object file, which is not linked."""
    source = BINARIES / name / "looped.S"
    output = directory / "looped.o"
    target = f"{name}-linux-gnu"
    command = (sys.executable, "-m", "ziglang", "cc", "-target", target, *flags, "-c")
    environment = os.environ | {
        variable: str(directory / "cache")
        for variable in ("ZIG_LOCAL_CACHE_DIR", "ZIG_GLOBAL_CACHE_DIR")
    }
    subprocess.run((*command, source, "-o", output), check=True, env=environment)
    (found,) = targets_in(str(output), None)
    assert isinstance(found, Target)
    return found


def test_relocations_that_are_not_resolved(tmp_path: Path) -> None:
    target = compiled("x86_64", (), tmp_path)
    result = prove(target, OUTPUT)
    assert result.target.size == target.function.size
    for one in result.properties:
        assert one.verdict is Verdict.UNKNOWN
        assert re.fullmatch(
            rf"1 unresolved relocation in {target.function.name} \(the first at"
            r" 0x1[0-9a-f]+, of type 2 against \.rodata\); link it first",
            one.reason,
        )


def test_an_object_without_relocations_in_the_function_is_proved(tmp_path: Path) -> None:
    result = prove(compiled("powerpc64le", (), tmp_path), OUTPUT)
    assert result.verdict is Verdict.PROVED


def test_constants_with_relocations() -> None:
    target = target_of("x86_64/looped.so")
    constants = target.segments[0].data.index(b"expand 32-byte k")
    for offset, verdict in ((-8, Verdict.PROVED), (-7, Verdict.UNKNOWN), (15, Verdict.UNKNOWN)):
        one = Relocation(constants + offset, 8, "")
        assert prove(dataclasses.replace(target, relocations=(one,)), OUTPUT).verdict is verdict


@pytest.mark.parametrize(
    ("opcode", "said"),
    [
        (b"\xe8", "calls another function at {stub:#x}, a"),
        (b"\xe9", "{stub:#x}: goes on through a"),
    ],
)
def test_linkage_stubs(opcode: bytes, said: str) -> None:
    plain = grown(target_of("x86_64/looped.so"))
    address, size = plain.function.address, plain.function.size
    stub = address + size
    code = opcode + (size - 5).to_bytes(4, "little") + b"\x0f\x1f\x00"
    call = Alternative(address, code, Condition())
    stubs = (Section(".plt.sec", stub, 16, executable=True),)
    target = dataclasses.replace(plain.patched(Variant((call,))), stubs=stubs)
    for one in prove(target, OUTPUT).properties:
        assert one.verdict is Verdict.UNKNOWN
        assert said.format(stub=stub) + " linkage stub in .plt.sec" in one.reason
        assert "link what it stands for into the image" in one.reason


def test_running_code_has_one_variant() -> None:
    result = prove(dataclasses.replace(TARGET, running=True), OUTPUT)
    assert verdicts(result) == {AS_RUNNING: {"output": "PROVED", "stack": "PROVED"}}


def test_inspect_lists_variants(tmp_path: Path) -> None:
    target = faulty("x86_64").target(tmp_path)
    inspection = inspect(target)
    built, patched = inspection.variants
    assert (built.name, built.patches) == (AS_BUILT, ())
    assert patched.name == NAMES["x86_64"]
    (patch,) = patched.patches
    assert (patch.code, patch.condition) == ("4883c73c", NAMES["x86_64"])
    assert inspection.unknown == ""
    text = io.StringIO()
    print_inspection(console_for(text), inspection)
    line = f"{patched.name}: {patch.address:#x} becomes 4883c73c ({patched.name})"
    assert f"variant       {line}" in text.getvalue()
    unusable = inspect(dataclasses.replace(target, unusable="the table is damaged"))
    assert (unusable.variants, unusable.unknown) == ((), "the table is damaged")
    refused = dataclasses.replace(target.alternatives[0], refused="it is odd")
    assert "but it is odd" in inspect(offering(target, refused)).unknown


@pytest.fixture(scope="module")
def patchable(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, range]:
    """A file with a table of one entry, and where that is in it."""
    directory = tmp_path_factory.mktemp("patchable")
    assert len(faulty("x86_64").target(directory).alternatives) == 1
    data = (directory / "patchable.so").read_bytes()
    with (directory / "patchable.so").open("rb") as file:
        section = ELFFile(file).get_section_by_name(".altinstructions")
        assert section is not None
        start = section["sh_offset"]
        return data, range(start, start + section["sh_size"])


@given(st.data())
def test_a_damaged_table_in_a_file(patchable: tuple[bytes, range], data: st.DataObject) -> None:
    """It is read whole, or the target says that it cannot be used: never is it passed over."""
    image, table = patchable
    damaged = bytearray(image)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.sampled_from(table))] = data.draw(st.integers(0, 255))
    (found,) = images_in(bytes(damaged), "file")
    target = find_target(found, "file", "")
    assert len(target.alternatives) == (0 if target.unusable else 1)
    if target.unusable:
        (reason,) = {one.reason for one in prove(target, OUTPUT).properties}
        assert reason == target.unusable
