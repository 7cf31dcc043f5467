"""AArch64 in either byte order: right readings pass, and each wrong one is found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.readings import own_target
from verify.arch import Architecture, by_name
from verify.lift.engine import CodeReader, Engine
from verify.lift.select import engine_for
from verify.validate.campaign import validate, validate_all
from verify.validate.encodings import encoding_of

STRUCTURES = {"ld1", "st1"}


def wrong(**changes: Any) -> Any:
    """A lifter with other parts."""

    def lifter(architecture: Architecture, code: CodeReader) -> Engine:
        engine: Any = engine_for(architecture, code)
        vars(engine).update(changes)
        faulty: Engine = engine
        return faulty

    return lifter


@pytest.mark.parametrize(
    "name", ["arm64/looped.so", "arm64/scalar.so", "arm64be/unrolled.so", "arm64be/scalar.so"]
)
def test_every_instruction_of_a_binary_is_read_as_qemu_executes_it(name: str) -> None:
    validation = validate(own_target(name), 16)
    assert [row.text for row in validation.rows if row.mismatches] == []
    assert {row.reason.split(" ")[0] for row in validation.rows} <= {"", "only"}


def mnemonics_of_mismatches(name: str, **changes: Any) -> set[str]:
    validation = validate(own_target(name), 16, lifter=wrong(**changes))
    return {row.text.split()[0] for row in validation.rows if row.mismatches}


def test_vectors_that_are_loaded_as_a_whole_are_found() -> None:
    found = mnemonics_of_mismatches("arm64be/looped.so", _elements=lambda _word, size: size)
    assert found == STRUCTURES


def test_data_in_the_byte_order_of_instructions_are_found() -> None:
    found = mnemonics_of_mismatches("arm64be/unrolled.so", _elements=None)
    assert found == {"ld1", "ldp", "stp"}


# Forms of loads into a general register: ldrsw, ldrsb written back, ldrh with an index.
LOADS = (0xB980_0000, 0x3880_0C00, 0x7860_7800)


@pytest.mark.parametrize("arch", ["arm64", "arm64be"])
def test_loads_into_the_zero_register_are_dropped_by_vex_alone(arch: str) -> None:
    architecture = by_name(arch)
    forms = [encoding_of("arm64").form(word.to_bytes(4, "little")) for word in LOADS]
    ours = validate_all(architecture, [], 64, forms=forms)
    stock = validate_all(architecture, [], 64, forms=forms, lifter=wrong(_added=()))
    assert not any(row.mismatches for row in ours.rows)
    found = {row.text for row in stock.rows if row.mismatches}
    assert found
    assert all("zr, [" in text for text in found)
