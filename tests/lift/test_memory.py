"""Memory as regions: what an address means, and what is known after which access."""

from __future__ import annotations

from typing import Any

import pytest

from verify.lift.angr_import import import_angr
from verify.terms import Linear, Term, add, const, linear, subtract, var
from verify.terms.term import binary

import_angr()

from angr import claripy  # noqa: E402

from verify.lift.memory import CODE, STACK, Place, RegionMemory  # noqa: E402

BITS = 64
DST, KEY, SP, INDEX, OTHER = (var(name, BITS) for name in ("dst", "key", "sp", "index", "other"))
BASES = {DST: "dst", KEY: "key", SP: STACK}
CONTENTS = {0x1000: bytes(range(1, 33))}
FRESH = claripy.BVS("fresh", 32, explicit_name=True)
HERE = Linear(BITS, 0)
MOVED = linear(binary("bvmul", INDEX, const(64, BITS)))


def code(address: int, size: int) -> bytes | None:
    for start, data in CONTENTS.items():
        if start <= address and address + size <= start + len(data):
            return data[address - start :][:size]
    return None


def memory(little: bool = True, **contents: tuple[tuple[int, Any], ...]) -> RegionMemory:
    return RegionMemory(little, BASES, code, contents)


def number(value: int) -> Term:
    return const(value, BITS)


def symbol(name: str, size: int = 4) -> Any:
    return claripy.BVS(name, 8 * size, explicit_name=True)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (DST, Place("dst", HERE, 0)),
        (add(DST, number(60)), Place("dst", HERE, 60)),
        (subtract(SP, number(216)), Place(STACK, HERE, -216)),
        (add(add(DST, number(4)), binary("bvmul", number(64), INDEX)), Place("dst", MOVED, 4)),
        (subtract(add(DST, INDEX), INDEX), Place("dst", HERE, 0)),
        (number(0x1008), Place(CODE, HERE, 0x1008)),
        (number(2**64 - 8), Place(CODE, HERE, -8)),
        (OTHER, None),
        (add(OTHER, number(8)), None),
        (add(DST, SP), None),
        (subtract(DST, KEY), None),
        (binary("bvmul", DST, number(2)), None),
        (subtract(number(0), DST), None),
        (binary("bvand", SP, number(2**64 - 16)), None),
    ],
    ids=repr,
)
def test_place(address: Term, place: Place | None) -> None:
    assert memory().normalise(linear(address)) == place


@pytest.mark.parametrize("little", [True, False], ids=["little", "big"])
def test_bytes_of_the_image(little: bool) -> None:
    value = memory(little).load(Place(CODE, HERE, 0x1004), 4, lambda: FRESH)
    assert value.concrete_value == (0x08070605 if little else 0x05060708)


def test_bytes_that_the_image_does_not_have_are_unknown() -> None:
    assert memory().load(Place(CODE, HERE, 0x101E), 4, lambda: FRESH) is FRESH


def test_contents_at_entry() -> None:
    k0, k1 = symbol("k0"), symbol("k1")
    found = memory(key=((0, k0), (4, k1)))
    assert found.load(Place("key", HERE, 0), 4, lambda: FRESH) is k0
    both = found.load(Place("key", HERE, 0), 8, lambda: FRESH)
    assert both is k1.concat(k0)


def test_what_is_stored_is_loaded() -> None:
    found = memory()
    value = symbol("value", 8)
    found.store(Place(STACK, HERE, -16), value)
    assert found.load(Place(STACK, HERE, -16), 8, lambda: FRESH) is value
    assert found.load(Place(STACK, HERE, -12), 4, lambda: FRESH) is value[63:32]
    assert found.load(Place("dst", HERE, -16), 8, lambda: FRESH) is not value
    assert not found.unknown_write


def test_what_was_never_stored_is_one_unknown_value() -> None:
    found = memory()
    first = found.load(Place("dst", HERE, 0), 4, lambda: FRESH)
    assert first.op == "BVS"
    assert found.load(Place("dst", HERE, 0), 4, lambda: FRESH) is first
    assert found.load(Place("dst", HERE, 4), 4, lambda: FRESH) is not first
    assert found.load(Place("key", HERE, 0), 4, lambda: FRESH) is not first


def test_copies_are_independent() -> None:
    found = memory()
    found.store(Place("dst", HERE, 0), symbol("one"))
    twin = found.copy()
    twin.store(Place("dst", HERE, 0), symbol("two"))
    twin.store(None, symbol("three"))
    assert found.load(Place("dst", HERE, 0), 4, lambda: FRESH) is symbol("one")
    assert (found.unknown_write, twin.unknown_write) == (False, True)


@pytest.mark.parametrize(
    "place", [None, Place(CODE, HERE, 0x1000), Place("dst", MOVED, 0)], ids=str
)
def test_a_store_that_could_be_anywhere_makes_everything_unknown(place: Place | None) -> None:
    found = memory(key=((0, symbol("k0")),))
    found.store(Place("dst", HERE, 0), symbol("known"))
    found.store(place, symbol("value"))
    assert found.unknown_write
    for region in ("dst", "key"):
        assert found.load(Place(region, HERE, 0), 4, lambda: FRESH) is FRESH
    assert found.copy().unknown_write


def test_a_load_that_could_be_anywhere_is_unknown_and_harmless() -> None:
    found = memory()
    found.store(Place("dst", HERE, 0), symbol("known"))
    assert found.load(None, 4, lambda: FRESH) is FRESH
    assert found.load(Place("dst", MOVED, 0), 4, lambda: FRESH) is FRESH
    assert not found.unknown_write
    assert found.load(Place("dst", HERE, 0), 4, lambda: FRESH) is symbol("known")


def test_one_index_that_is_not_constant_is_as_good_as_none() -> None:
    found = memory()
    found.store(Place("dst", MOVED, 60), symbol("word"))
    assert found.load(Place("dst", MOVED, 60), 4, lambda: FRESH) is symbol("word")
    assert not found.unknown_write
    assert set(found.cells()) == {("dst", MOVED)}


def test_what_is_read_after_forgetting_is_not_what_was_there_before() -> None:
    found = memory()
    before = found.load(Place("dst", HERE, 0), 4, lambda: FRESH)
    found.forget("dst")
    after = found.load(Place("dst", HERE, 0), 4, lambda: FRESH)
    assert after is not before
    found.forget("dst")
    assert found.load(Place("dst", HERE, 0), 4, lambda: FRESH) is not after
    twin = found.copy()
    twin.forget("dst")
    assert twin.load(Place("dst", HERE, 8), 4, lambda: FRESH) is not found.load(
        Place("dst", HERE, 8), 4, lambda: FRESH
    )


def test_forgetting_one_region_keeps_the_others() -> None:
    found = memory(key=((0, symbol("k0")),))
    found.store(Place("dst", MOVED, 0), symbol("word"))
    found.forget("dst")
    assert found.load(Place("key", HERE, 0), 4, lambda: FRESH) is symbol("k0")
    assert found.load(Place("dst", MOVED, 0), 4, lambda: FRESH) is not symbol("word")
    assert not found.unknown_write
