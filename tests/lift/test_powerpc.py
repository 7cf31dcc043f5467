"""PowerPC's lifters: what we add to SLEIGH and to VEX, and that both agree with QEMU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pypcode
import pytest

from tests.lift.test_vex_instructions import after
from tests.validate.readings import own_target, stock, target_of
from verify.arch import Architecture, by_name
from verify.lift.machine import UNDEFINED
from verify.lift.select import engine_for
from verify.target import Target
from verify.terms import variables
from verify.validate.campaign import validate

LDBRX, STDBRX = 0x7C001428, 0x7C001528
"""ldbrx r0, 0, r2 and stdbrx r0, 0, r2."""
BOTH = [LDBRX | 5 << 21, STDBRX | 5 << 21, LDBRX | 2 << 21 | 2 << 16, STDBRX | 7 << 21 | 9 << 16]


def by_other(target: Target) -> Target:
    other = target.architecture.read_by_other()
    assert other is not None
    assert other.lifter.engine == "pcode"
    return replace(target, architecture=other)


@pytest.mark.parametrize("language", ["PowerPC:LE:64:default", "PowerPC:BE:64:default"])
@pytest.mark.parametrize("word", [LDBRX, STDBRX])
def test_the_additions_are_needed(language: str, word: int) -> None:
    """When this fails, SLEIGH has learnt the instruction, and its addition can go."""
    order = "little" if ":LE:" in language else "big"
    code = word.to_bytes(4, order)  # type: ignore[arg-type]
    with pytest.raises(pypcode.BadDataError):
        pypcode.Context(language).disassemble(code, 0)


@pytest.mark.parametrize("name", ["powerpc64le", "powerpc64"])
def test_doublewords_with_their_bytes_reversed(name: str) -> None:
    target = by_other(target_of(name, *BOTH))
    validation = validate(target, 64)
    assert validation.passed
    texts = {row.text for row in validation.rows if row.occurs}
    assert {"ldbrx r5, r0, r2", "stdbrx r7, r9, r2"} <= texts
    with_stock = validate(target, 16, lifter=stock)
    assert not with_stock.passed
    assert not with_stock.mismatches


def test_they_are_no_instructions_of_32_bits() -> None:
    validation = validate(by_other(target_of("powerpc", LDBRX)), 16)
    assert not validation.passed
    assert "no instruction of a machine of 32 bits" in validation.groups[0].reason


RLDIMI = [0x7865000E, 0x78650FEE, 0x7884000C]
"""rldimi r5, r3, 32, 0, and others, for which SLEIGH loads from its space of constants."""


@pytest.mark.parametrize("name", ["powerpc64le", "powerpc64"])
def test_insert_under_mask(name: str) -> None:
    validation = validate(by_other(target_of(name, *RLDIMI)), 64)
    assert validation.passed, [group.reason for group in validation.groups]
    assert "rldimi" in {row.mnemonic for row in validation.rows if row.occurs}


PROGRAMS = [f"{name}/looped.so" for name in ("powerpc", "powerpc64le")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_other_lifter_agrees_with_qemu(name: str) -> None:
    validation = validate(by_other(own_target(name)), 16)
    assert validation.passed, [g.reason for g in validation.groups if not g.passed]


def test_a_fault_of_the_other_lifter_is_found() -> None:
    def wrong(architecture: Architecture, code: object) -> object:
        engine = stock(architecture, code)  # type: ignore[arg-type]
        registers = engine.layout.registers
        exchanged = {"r5": registers["r6"], "r6": registers["r5"]}
        engine.layout = replace(engine.layout, registers={**registers, **exchanged})
        return engine

    add = 0x7C000214 | 5 << 21 | 6 << 16 | 7 << 11
    assert by_name("powerpc64").read_by_other() is not None
    validation = validate(by_other(target_of("powerpc64", add)), 64, lifter=wrong)  # type: ignore[arg-type]
    assert validation.mismatches


def test_no_engine_can_change_the_registers_of_another() -> None:
    """They are described once for each language."""
    other = by_name("powerpc64").read_by_other()
    assert other is not None
    registers: Any = engine_for(other, lambda _address, _size: None).layout.registers
    with pytest.raises(TypeError):
        registers["r5"] = registers["r6"]


MOVES = [0x7D900026 | 1 << 12 + bit for bit in range(8)]
"""mfocrf r12, for each field of the condition register."""


@pytest.mark.parametrize("name", ["powerpc", "powerpc64", "powerpc64le"])
def test_one_field_of_the_condition_register(name: str) -> None:
    target = target_of(name, *MOVES)
    assert validate(target, 64).passed
    differing = {row.code for row in validate(target, 16, lifter=stock).rows if row.mismatches}
    assert len(differing) >= len(MOVES)


def test_the_other_fields_are_undefined() -> None:
    value = after(by_name("powerpc64"), bytes.fromhex("7d920026"))["r12"]  # mfocrf r12, 0x20
    names = {variable.name for variable in variables((value,))}
    assert {name for name in names if not name.startswith(UNDEFINED)} == {
        "init_cr2_321",
        "init_cr2_0",
    }
    assert len(names) == 3
