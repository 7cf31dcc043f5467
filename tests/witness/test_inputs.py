"""Inputs are those of the contract, lie apart from one another, and depend on nothing hidden."""

from __future__ import annotations

import dataclasses
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specs.contract import BLOCK_BYTES, REFILL_KEY_OFFSET
from tests.witness.programs import MACHINES
from verify.arch import ARCHITECTURES, by_name
from verify.qemu import MACHINES as MACHINES_UNDER_QEMU
from verify.witness import MOST_BLOCKS, Inputs, candidates, execute, other_key
from verify.witness.placement import GUARD, STACK, Edge, place

KEY = tuple(range(8))
INPUTS = Inputs(key=KEY, counter=0, nblocks=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": KEY[1:]}, "a key is 8 words of 32 bits"),
        ({"key": (*KEY[1:], 2**32)}, "a key is 8 words of 32 bits"),
        ({"key": (*KEY[1:], -1)}, "a key is 8 words of 32 bits"),
        ({"counter": 2**64}, "the counter has 64 bits, 0x10000000000000000 has more"),
        ({"counter": -1}, "the counter has 64 bits"),
        ({"nblocks": 0}, "0 blocks are not executed, only 1 to 4096"),
        ({"nblocks": MOST_BLOCKS + 1}, "4097 blocks are not executed"),
        ({"in_place": True, "nblocks": 3}, "in place, 2 blocks are written, not 3"),
    ],
)
def test_outside_the_contract(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        dataclasses.replace(INPUTS, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "register", "message"),
    [
        ("loongarch64", "a0", "a0 has its value from the contract"),
        ("loongarch64", "sp", "sp has its value from the contract"),
        ("loongarch64", "ra", "ra has its value from the contract"),
        ("loongarch64", "zero", "QEMU cannot set the register zero of loongarch64"),
        ("powerpc64le", "r6", "r6 has its value from the contract"),
        ("powerpc64le", "lr", "lr has its value from the contract"),
        ("powerpc64le", "vrsave", "QEMU cannot set the register vrsave of powerpc64le"),
        ("powerpc64le", "x", "QEMU cannot set the register x of powerpc64le"),
    ],
)
def test_registers_that_cannot_be_given(name: str, register: str, message: str) -> None:
    machine = MACHINES[name]
    with pytest.raises(ValueError, match=message):
        execute(
            machine.program(machine.back),
            [dataclasses.replace(INPUTS, registers={register: 1})],
        )


@pytest.mark.parametrize(
    ("name", "registers", "seen"),
    [
        ("loongarch64", {"s0": 5, "fs1": 2**64 - 1, "fcc3": 1}, {}),
        ("loongarch64", {"a4": 7, "fcsr": 0x100}, {}),
        ("powerpc64le", {"r14": 5, "f14": 1, "vs14.low": 2, "v20": 2**127}, {}),
        ("powerpc64le", {"cr2": 4, "cr2.so": 1, "cr3": 0, "cr3.so": 0}, {}),
        ("powerpc64le", {"xer.ca": 1, "xer.so": 0, "xer.bc": 0x55}, {}),
        ("powerpc64le", {"f8": 1, "v8": 2, "vs8.low": 3}, {}),
        ("powerpc64le", {"cr2": 0xFF, "xer.ca": 0xFF}, {"cr2": 7, "xer.ca": 1}),
    ],
)
def test_registers_that_are_given(
    name: str, registers: dict[str, int], seen: dict[str, int]
) -> None:
    machine = MACHINES[name]
    inputs = dataclasses.replace(INPUTS, registers=registers)
    (execution,) = execute(machine.program(machine.back), [inputs])
    for register, value in {**registers, **seen}.items():
        assert execution.initial_register(register) == value
        assert execution.register(register) == value


@pytest.mark.parametrize(
    ("register", "value", "move", "seen"),
    [
        ("xer.so", 1, 0x7D2102A6, 0x8000_0000),
        ("xer.ov", 1, 0x7D2102A6, 0x4000_0000),
        ("xer.ca", 1, 0x7D2102A6, 0x2000_0000),
        ("xer.bc", 0x55, 0x7D2102A6, 0x55),
        ("cr0", 4, 0x7D200026, 0x8000_0000),
        ("cr0.so", 1, 0x7D200026, 0x1000_0000),
        ("cr2", 1, 0x7D200026, 0x0020_0000),
        ("cr7.so", 1, 0x7D200026, 1),
    ],
)
def test_fields_are_where_the_code_finds_them(
    register: str, value: int, move: int, seen: int
) -> None:
    machine = MACHINES["powerpc64le"]
    fields = dict.fromkeys(
        [f"xer.{name}" for name in ("so", "ov", "ca", "bc")]
        + [f"cr{n}{part}" for n in range(8) for part in ("", ".so")],
        0,
    )
    inputs = dataclasses.replace(INPUTS, registers={**fields, register: value})
    # mfxer r9 or mfcr r9
    (execution,) = execute(machine.program(move, machine.back), [inputs])
    assert execution.register("r9") == seen


def test_pool() -> None:
    target = MACHINES["loongarch64"].program(MACHINES["loongarch64"].back)
    pool = candidates(target)
    assert 50 <= len(pool) <= 70
    assert pool == candidates(target)
    assert len({inputs.seed for inputs in pool}) == len(pool)
    keys = {inputs.key for inputs in pool}
    assert {(0,) * 8, (2**32 - 1,) * 8} < keys
    corners = {0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**63 - 1, 2**64 - 2, 2**64 - 1}
    for nblocks, in_place in ((1, False), (2, False), (3, False), (5, False), (2, True)):
        assert corners < {
            inputs.counter
            for inputs in pool
            if (inputs.nblocks, inputs.in_place) == (nblocks, in_place)
        }
    assert (pool[0].key, pool[0].counter, pool[0].nblocks) == ((0,) * 8, 0, 1)
    other = dataclasses.replace(target, function=dataclasses.replace(target.function, size=0))
    assert candidates(other) != pool


def test_other_key() -> None:
    others = [other_key(INPUTS, number) for number in range(4)]
    assert len({one.key for one in (INPUTS, *others)}) == 5
    assert {dataclasses.replace(one, key=KEY) for one in others} == {INPUTS}


@given(
    architecture=st.sampled_from([a.name for a in ARCHITECTURES]),
    nblocks=st.integers(1, 300),
    in_place=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_regions_lie_apart(architecture: str, nblocks: int, in_place: bool, seed: int) -> None:
    inputs = Inputs(KEY, 0x1122334455667788, 2 if in_place else nblocks, in_place, seed)
    placement = place(by_name(architecture), inputs)
    spans = sorted((arena.address, arena.end) for arena in placement.arenas)
    assert len(spans) == (3 if in_place else 4)
    assert all(one[1] < two[0] for one, two in itertools.pairwise(spans))
    space = MACHINES_UNDER_QEMU[architecture].space
    (lowest, highest), (low, high) = space.usable, space.emulator
    assert lowest <= spans[0][0]
    assert spans[-1][1] <= highest <= space.returned
    assert all(end <= low or high <= start for start, end in spans)
    for arena in placement.arenas:
        assert arena.address + GUARD <= arena.start
        assert arena.start + arena.size + GUARD <= arena.end
    addresses = placement.addresses
    assert addresses["key"] % 4 == addresses["counter"] % 4 == 0
    known = by_name(architecture)
    assert (addresses[STACK] + known.popped_at_return) % known.stack_alignment == 0
    dst = placement.arena("dst")
    assert dst.size == BLOCK_BYTES * inputs.nblocks
    key = placement.arena("dst" if in_place else "key")
    if in_place:
        assert addresses["key"] == addresses["dst"] + REFILL_KEY_OFFSET
    at = addresses["key"] - key.address
    assert key.data[at : at + 32] == b"".join(word.to_bytes(4, known.byte_order) for word in KEY)
    counter = placement.arena("counter")
    at = addresses["counter"] - counter.address
    assert counter.data[at : at + 8] == b"".join(
        word.to_bytes(4, known.byte_order) for word in (0x55667788, 0x11223344)
    )


@given(
    region=st.sampled_from(["dst", "key", "counter", STACK]),
    beyond=st.integers(0, 40000),
    before=st.booleans(),
)
def test_edge(region: str, beyond: int, before: bool) -> None:
    sizes = {"dst": 128, "key": 32, "counter": 8, STACK: 0}
    before = before and region != STACK
    offset = -1 - beyond if before else sizes[region] + beyond
    placement = place(by_name("powerpc64le"), INPUTS, Edge(region, offset))
    arena = placement.arena(region)
    address = arena.start + offset
    assert arena.address <= arena.start
    assert arena.start + arena.size <= arena.end
    assert arena.address % 0x4000 == arena.end % 0x4000 == 0
    if before:
        assert arena.address - 4 < address + 1 <= arena.address
    else:
        assert arena.end <= address < arena.end + 16
