"""One state at the head of the retry loop stands for another if that is one of its instances."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from tests.getrandom.adversaries import target_in
from tests.history.programs import BINARIES
from verify.arch.kerneldata import Layout
from verify.getrandom.walk.covering import ANYTHING, covers, most_general, state_at
from verify.getrandom.walk.paths import Path
from verify.getrandom.walk.setting import Setting, entry_machine, memory_of, setting_of
from verify.image import open_images
from verify.lift.memory import STACK
from verify.terms import Linear, Term, const, unsigned_less_equal, var

if TYPE_CHECKING:
    from collections.abc import Mapping

WORD, OTHER = var("word", 64), var("other", 64)
FREE, SECOND = var(f"{ANYTHING}1", 64), var(f"{ANYTHING}2", 64)


@cache
def setting() -> Setting:
    path = BINARIES / "loongarch64/getrandom.so"
    target = target_in(path)
    (image,) = open_images(path)
    function, port = image.elf.getrandom, target.architecture.getrandom_port
    assert function is not None and port is not None
    layout = Layout(port.page_bytes, port.data_page)
    return setting_of(target, function.address, layout, port)


def at_head(registers: Mapping[str, Term], stack: Term | None = None) -> Path:
    machine = entry_machine(setting())
    for name, value in registers.items():
        register = setting().architecture.register(name)
        offset, _ = setting().engine.layout.registers[register.storage]
        low = register.bits[1] // 8 if register.bits else 0
        machine.registers.write(offset + low, machine.converter.leaf(value))
    if stack is not None:
        region = memory_of(machine).region(STACK, Linear(64, 0))
        region.write(-16, machine.converter.leaf(stack))
    return Path(machine, ())


def test_a_value_that_may_be_anything_stands_for_each() -> None:
    general = at_head({"t0": FREE})
    for value in (WORD, const(3, 64), FREE, SECOND):
        assert covers(general, at_head({"t0": value}))
    assert covers(general, at_head({}))


def test_no_other_value_does() -> None:
    for value in (WORD, const(3, 64)):
        for other in (OTHER, const(4, 64), FREE):
            assert not covers(at_head({"t0": value}), at_head({"t0": other}))
    assert not covers(at_head({}), at_head({"t0": WORD}))


def test_word_by_word() -> None:
    general = at_head({"fa0": WORD, "vr0.high": FREE})
    assert covers(general, at_head({"fa0": WORD, "vr0.high": OTHER}))
    assert not covers(general, at_head({"fa0": OTHER, "vr0.high": WORD}))


def test_the_stack_counts() -> None:
    assert covers(at_head({}, FREE), at_head({}, WORD))
    assert not covers(at_head({}, WORD), at_head({}, OTHER))
    assert not covers(at_head({}), at_head({}, WORD))
    known, given_up = at_head({}, FREE), at_head({}, FREE)
    memory_of(given_up.machine).given_up = frozenset({-16})
    assert not covers(known, given_up)


def test_facts_and_places_count() -> None:
    path = at_head({"t0": FREE})
    known = replace(path, facts=(unsigned_less_equal(WORD, OTHER),))
    assert not covers(path, known)
    assert not covers(known, path)
    path.machine.pc += 4
    assert not covers(path, at_head({"t0": WORD}))


def test_the_most_general_stand_for_all() -> None:
    narrow = [at_head({"t0": const(n, 64), "t1": WORD}) for n in range(3)]
    wide, other = at_head({"t0": FREE, "t1": WORD}), at_head({"t0": WORD, "t1": OTHER})
    assert most_general([*narrow, wide, other, *narrow]) == [wide, other]
    assert most_general(narrow) == narrow


def test_a_digest_tells_states_apart() -> None:
    path, later, known, given_up = (at_head({"t0": WORD}, OTHER) for _ in range(4))
    later.machine.pc += 4
    memory_of(given_up.machine).given_up = frozenset({-16})
    others = (
        at_head({"t0": OTHER}, OTHER),
        at_head({"t1": WORD}, OTHER),
        at_head({"t0": WORD}, WORD),
        at_head({"t0": WORD}),
        replace(known, facts=(unsigned_less_equal(WORD, OTHER),)),
        replace(known, facts=(unsigned_less_equal(OTHER, WORD),)),
        later,
        given_up,
    )
    digests = {state_at(setting(), one) for one in (path, *others)}
    assert len(digests) == 1 + len(others)
    assert state_at(setting(), at_head({"t0": WORD}, OTHER)) == state_at(setting(), path)
    setting().read(path.machine, "t5")
    assert state_at(setting(), at_head({"t0": WORD}, OTHER)) == state_at(setting(), path)
