"""What one instruction does is confirmed where it is true, and nowhere else."""

from __future__ import annotations

import dataclasses

import pytest

from tests.binaries.execution import ROOT
from tests.witness.confirmations import CONFIRMATIONS, Confirmation
from tests.witness.programs import ENTRY, MACHINES, Machine, address_of, built
from verify.witness import (
    Inputs,
    confirm_access,
    confirm_register_write,
    confirm_stack_write,
    stack_stores,
)

INPUTS = Inputs(key=tuple(0x11121314 + 0x20202020 * n for n in range(8)), counter=7, nblocks=2)
RESERVED = {"loongarch64": "r21", "powerpc64le": "r13"}

per_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


class TestFaults:
    @pytest.mark.parametrize(
        "case", CONFIRMATIONS, ids=lambda case: f"{case.architecture}/{case.fault}"
    )
    def test_confirmed(self, case: Confirmation) -> None:
        target = built(ROOT / "binaries" / "faults" / case.architecture / f"{case.fault}.so")
        breach = case.confirm(target, INPUTS)
        assert breach is not None
        assert (breach.property, breach.what) == (case.property, case.what)
        assert breach.inputs == INPUTS
        assert breach.instruction is not None
        assert 0 <= breach.instruction - target.function.address < target.function.size

    @per_machine
    @pytest.mark.parametrize("style", ["looped", "unrolled"])
    @pytest.mark.parametrize(("region", "size"), [("dst", 128), ("key", 32), ("counter", 8)])
    def test_good_program_stays_inside(
        self, machine: Machine, style: str, region: str, size: int
    ) -> None:
        target = built(ROOT / "binaries" / machine.name / f"{style}.so")
        for offset in (-1, size):
            assert confirm_access(target, INPUTS, region, offset) is None

    @per_machine
    @pytest.mark.parametrize("style", ["looped", "unrolled"])
    def test_good_program_stays_below_the_stack_pointer(self, machine: Machine, style: str) -> None:
        target = built(ROOT / "binaries" / machine.name / f"{style}.so")
        assert confirm_access(target, INPUTS, "stack", 0) is None


class TestStackWrite:
    def test_saved_register_of_the_good_program(self) -> None:
        target = built(ROOT / "binaries" / "powerpc64le" / "looped.so")
        address = address_of(target, MACHINES["powerpc64le"].store_double("saved", "sp", -144))
        (store,) = stack_stores(target, INPUTS, address, -144, 8)
        assert store.lowest_allowed == -288
        assert store.different is None
        assert len(store.others) == 4
        assert confirm_stack_write(target, INPUTS, address, -144, 8) is None

    @per_machine
    @pytest.mark.parametrize(
        ("value", "said"),
        [
            ("saved", None),
            ("counter", None),
            ("nblocks", None),
            ("free", "bytes that depend on registers which may hold anything at entry"),
        ],
    )
    def test_what_is_public(self, machine: Machine, value: str, said: str | None) -> None:
        target = machine.program(
            machine.add("sp", "sp", -16),
            machine.store_double(value, "sp", 8),
            machine.add("sp", "sp", 16),
            machine.back,
        )
        breach = confirm_stack_write(target, INPUTS, ENTRY + 4, -8, 8)
        assert (breach and breach.what) == (said and f"writes {said} at sp - 8")

    @per_machine
    def test_secret_of_a_later_pass(self, machine: Machine) -> None:
        loop = (
            machine.store("other", "sp", 8),
            machine.load("other", "key", 4),
            machine.add("nblocks", "nblocks", -1),
        )
        target = machine.program(
            machine.add("sp", "sp", -16),
            machine.zero("other"),
            *loop,
            *machine.branch_if_not_zero("nblocks", -4 * len(loop)),
            machine.add("sp", "sp", 16),
            machine.back,
        )
        assert confirm_stack_write(target, INPUTS, ENTRY + 8, -8, 4, passes=1) is None
        breach = confirm_stack_write(target, INPUTS, ENTRY + 8, -8, 4)
        assert breach is not None
        assert breach.what == "writes key word 1 at sp - 8"
        once = dataclasses.replace(INPUTS, nblocks=1)
        assert confirm_stack_write(target, once, ENTRY + 8, -8, 4) is None

    @per_machine
    @pytest.mark.parametrize(("offset", "size"), [(-12, 4), (-4, 4), (-8, 8), (-9, 4), (-7, 4)])
    def test_only_bytes_that_are_written(self, machine: Machine, offset: int, size: int) -> None:
        target = machine.program(
            machine.load("other", "key", 0),
            machine.add("sp", "sp", -16),
            machine.store("other", "sp", 8),
            machine.add("sp", "sp", 16),
            machine.back,
        )
        assert list(stack_stores(target, INPUTS, ENTRY + 8, offset, size)) == []
        (store,) = stack_stores(target, INPUTS, ENTRY + 8, -8, 4)
        assert store.value == INPUTS.key[0].to_bytes(4, "little")

    @per_machine
    @pytest.mark.parametrize(
        ("offset", "said"),
        [
            (0, "writes 8 bytes at sp + 0, in the caller's frame"),
            (16, "writes 8 bytes at sp + 16, in the caller's frame"),
            (24, "writes 8 bytes at sp + 24, in the caller's frame"),
        ],
    )
    def test_frame_of_the_caller(self, machine: Machine, offset: int, said: str) -> None:
        target = machine.program(machine.store_double("saved", "sp", offset), machine.back)
        breach = confirm_stack_write(target, INPUTS, ENTRY, offset, 8)
        # 64-Bit ELF V2 ABI Specification, 2.2.2: the callee's slot for the link register
        if machine.name == "powerpc64le" and offset == 16:
            assert breach is None
        else:
            assert breach is not None
            assert (breach.property, breach.what) == ("stack", said)

    def test_store_that_allocates_its_frame(self) -> None:
        # stdu r1, -416(r1)
        target = MACHINES["powerpc64le"].program(0xF821FE61, MACHINES["powerpc64le"].back)
        assert confirm_stack_write(target, INPUTS, ENTRY, -416, 8) is None
        (store,) = stack_stores(target, INPUTS, ENTRY, -416, 8)
        assert store.lowest_allowed == -416 - 288

    def test_condition_register_is_saved_as_a_whole(self) -> None:
        machine = MACHINES["powerpc64le"]
        # mfcr r9
        target = machine.program(0x7D200026, machine.store("free", "sp", 8), machine.back)
        assert confirm_stack_write(target, INPUTS, ENTRY + 4, 8, 4) is None

    @per_machine
    def test_never_executed(self, machine: Machine) -> None:
        target = machine.program(machine.back, machine.store("saved", "sp", -400), machine.back)
        assert confirm_stack_write(target, INPUTS, ENTRY + 4, -400, 4) is None

    @per_machine
    def test_too_far(self, machine: Machine) -> None:
        target = machine.program(machine.store("saved", "sp", -400), machine.back)
        with pytest.raises(LookupError, match="4 bytes at stack -100000 are not mapped"):
            confirm_stack_write(target, INPUTS, ENTRY, -100000, 4)


class TestRegisterWrite:
    @per_machine
    def test_change_and_restoration(self, machine: Machine) -> None:
        target = machine.program(
            machine.move("free", "reserved"),
            machine.zero("reserved"),
            machine.move("reserved", "free"),
            machine.move("reserved", "free"),
            machine.back,
        )
        name = RESERVED[machine.name]
        found = [confirm_register_write(target, INPUTS, ENTRY + at, name) for at in range(0, 16, 4)]
        assert [breach and (breach.what.split()[-3], breach.actual) for breach in found] == [
            None,
            ("behind", "0x0"),
            ("before", "0x0"),
            None,
        ]

    @per_machine
    def test_register_that_is_not_shown(self, machine: Machine) -> None:
        target = machine.program(machine.zero("free"), machine.back)
        with pytest.raises(KeyError, match="vrsave"):
            confirm_register_write(target, INPUTS, ENTRY, "vrsave")


class TestAccess:
    @per_machine
    @pytest.mark.parametrize("write", [False, True])
    @pytest.mark.parametrize(
        ("region", "offset"),
        [
            ("dst", 128),
            ("dst", 131),
            ("dst", -4),
            ("key", 32),
            ("key", 200),
            ("key", -4),
            ("counter", 8),
            ("counter", -4),
            ("stack", 32),
            ("stack", 100),
        ],
    )
    def test_outside(self, machine: Machine, region: str, offset: int, write: bool) -> None:
        base = "sp" if region == "stack" else region
        access = machine.store if write else machine.load
        target = machine.program(machine.zero("other"), access("other", base, offset), machine.back)
        breach = confirm_access(target, INPUTS, region, offset)
        assert breach is not None
        assert (breach.property, breach.instruction) == ("footprint", ENTRY + 4)
        assert breach.what.startswith(f"accesses {base} {'-' if offset < 0 else '+'} ")

    @per_machine
    @pytest.mark.parametrize(
        ("region", "offset", "claimed"),
        [
            ("dst", 0, 128),
            ("dst", 124, 128),
            ("key", 28, 32),
            ("key", 0, -1),
            ("counter", 4, 8),
            ("counter", 0, -4),
            ("stack", -4, 0),
        ],
    )
    def test_inside(self, machine: Machine, region: str, offset: int, claimed: int) -> None:
        base = "sp" if region == "stack" else region
        target = machine.program(machine.load("other", base, offset), machine.back)
        assert confirm_access(target, INPUTS, region, claimed) is None

    @per_machine
    def test_straddles_the_end(self, machine: Machine) -> None:
        target = machine.program(machine.store_double("saved", "counter", 4), machine.back)
        breach = confirm_access(target, INPUTS, "counter", 8)
        assert breach is not None
        assert breach.instruction == ENTRY

    @per_machine
    def test_slots_of_the_callee_are_its_own(self, machine: Machine) -> None:
        target = machine.program(machine.store_double("saved", "sp", 16), machine.back)
        breach = confirm_access(target, INPUTS, "stack", 16)
        assert (breach is None) == (machine.name == "powerpc64le")

    @per_machine
    def test_fault_elsewhere_is_not_this_one(self, machine: Machine) -> None:
        target = machine.program(machine.load("other", "nblocks", 0), machine.back)
        assert confirm_access(target, INPUTS, "key", 32) is None

    @pytest.mark.parametrize(
        ("region", "offset"),
        [("key", 31), ("key", 0), ("dst", 127), ("stack", -1), ("dst", 1 << 21), ("code", 0)],
    )
    def test_impossible_edge(self, region: str, offset: int) -> None:
        target = MACHINES["loongarch64"].program(MACHINES["loongarch64"].back)
        with pytest.raises(ValueError, match=f"{region}"):
            confirm_access(target, INPUTS, region, offset)

    def test_key_in_place_has_no_pages_of_its_own(self) -> None:
        target = MACHINES["loongarch64"].program(MACHINES["loongarch64"].back)
        inputs = dataclasses.replace(INPUTS, in_place=True)
        with pytest.raises(ValueError, match="key has no pages of its own"):
            confirm_access(target, inputs, "key", 32)
