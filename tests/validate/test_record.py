"""The record vouches for exactly what was compared with the present semantics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.validate.readings import ADDRESS, own_target, stock, target_of
from verify.arch import ARCHITECTURES, by_name
from verify.validate.campaign import validate, validate_all
from verify.validate.encodings import encoding_of
from verify.validate.record import LEAST_STATES, load, save, semantics_version, unchecked_forms

ARCHES = ("loongarch64", "powerpc64le")
BINARIES = [
    *(f"{arch}/{name}.so" for arch in ARCHES for name in ("looped", "unrolled")),
    *(f"{arch}/{name}.stripped.so" for arch in ARCHES for name in ("looped", "unrolled")),
    *(f"loongarch64/{name}.so" for name in ("lsx", "lsx_unrolled")),
]
ROTATE = 0x004CB084


def addresses(words: int) -> range:
    return range(ADDRESS, ADDRESS + 4 * words, 4)


@pytest.mark.parametrize("arch", ARCHES)
def test_the_record_is_of_the_present_semantics(arch: str) -> None:
    assert load()[arch].semantics == semantics_version(by_name(arch)), (
        "the semantics have changed: run `make validation-record`"
    )


@pytest.mark.parametrize("name", BINARIES)
def test_our_own_binaries_are_in_the_record(name: str) -> None:
    target = own_target(name)
    function = target.function
    instructions = range(function.address, function.address + function.size, 4)
    assert unchecked_forms(target, instructions) == ()


def test_a_form_that_was_not_compared_is_named() -> None:
    # amadd.w is in no binary.
    target = target_of("loongarch64", 0x38610000, ROTATE, 0x38610485)
    assert unchecked_forms(target, (ADDRESS, ADDRESS + 8)) == ("38610000/ffff8000 at 0x1000",)


def test_operands_that_are_not_defined_are_named(tmp_path: Path) -> None:
    # amadd.w $a0, $a2, $a1, and the same with $a1 for all, which is an exception
    defined, undefined = 0x386118A4, 0x386114A5
    path = tmp_path / "record.json"
    save([validate(target_of("loongarch64", defined), LEAST_STATES)], path)
    assert unchecked_forms(target_of("loongarch64", defined), (ADDRESS,), path=path) == ()
    (reason,) = unchecked_forms(target_of("loongarch64", undefined), (ADDRESS,), path=path)
    assert reason == "38610000/ffff8000 at 0x1000"


def test_an_address_outside_the_image_is_named() -> None:
    (reason,) = unchecked_forms(target_of("loongarch64"), (0x5000,))
    assert "0x5000" in reason


def test_other_semantics_are_not_vouched_for(tmp_path: Path) -> None:
    target = target_of("loongarch64", ROTATE)
    validation = validate(target, LEAST_STATES)
    path = tmp_path / "record.json"
    save([validation], path)
    assert unchecked_forms(target, addresses(2), path=path) == ()
    save([replace(validation, semantics="0" * 64)], path)
    assert len(unchecked_forms(target, addresses(2), path=path)) == 2


def test_only_what_passed_with_enough_states_is_recorded(tmp_path: Path) -> None:
    target = target_of("loongarch64", ROTATE)
    path = tmp_path / "record.json"
    save([validate(target, LEAST_STATES, lifter=stock)], path)
    names = [name for names in load(path)["loongarch64"].forms.values() for name in names]
    assert names == ["ret"]
    save([validate(target, LEAST_STATES // 2)], path)
    assert load(path)["loongarch64"].forms == {}


def test_what_a_second_lifter_read_is_not_recorded(tmp_path: Path) -> None:
    target = target_of("powerpc64", 0x7C632214)
    other = target.architecture.read_by_other()
    assert other is not None
    path = tmp_path / "record.json"
    validation = validate(replace(target, architecture=other), LEAST_STATES)
    assert [row for row in validation.rows if not row.passed] == []
    save([validation], path)
    assert load(path) == {}
    save([validate(target, LEAST_STATES), validation], path)
    assert load(path)["powerpc64"].semantics == semantics_version(target.architecture)


def test_the_version_depends_on_the_architecture() -> None:
    readings = {(one.lifter, one.byte_order): one for one in ARCHITECTURES}
    others = [other for one in ARCHITECTURES if (other := one.read_by_other()) is not None]
    readings |= {(one.lifter, one.byte_order): one for one in others}
    versions = {semantics_version(architecture) for architecture in readings.values()}
    assert len(versions) == len(readings) > len(ARCHITECTURES)
    assert semantics_version(by_name("powerpc64")) == semantics_version(by_name("powerpc64elfv2"))


def test_a_recorded_instruction_without_operands_is_recorded_again(tmp_path: Path) -> None:
    bti = encoding_of("arm64").form(bytes.fromhex("5f2403d5"))
    validation = validate_all(by_name("arm64"), [], LEAST_STATES, forms=[bti])
    save([validation], tmp_path / "record.json")
    assert load(tmp_path / "record.json")["arm64"].forms == {bti: ("bti",)}
