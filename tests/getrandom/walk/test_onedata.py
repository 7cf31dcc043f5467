"""Two paths that differ in the time namespace only go on as one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from tests.getrandom.adversaries import entry_of, target_in
from tests.getrandom.shared import layout
from tests.history.programs import BINARIES
from verify.getrandom.reasoning.questions import Questions
from verify.getrandom.walk.events import PageRead
from verify.getrandom.walk.mapped import mapped
from verify.getrandom.walk.namespaces import IN_NAMESPACE
from verify.getrandom.walk.onedata import as_one, relative
from verify.getrandom.walk.paths import Path
from verify.getrandom.walk.setting import Setting, entry_machine, memory_of, setting_of
from verify.lift.memory import STACK
from verify.terms import Linear, Term, add, const, equal, linear, negate, var

OUTSIDE = negate(IN_NAMESPACE)
MODE = var("page@1", 32)
SOMETHING = var("something", 64)
SAID = equal(MODE, const(5, 32))
"""Something that only one path knows, of clock_mode."""


@cache
def setting() -> Setting:
    """A program, as if the data were shared."""
    path = BINARIES / "x86_64/getrandom.so"
    target = target_in(path)
    port = target.architecture.getrandom_port
    assert port is not None
    return setting_of(target, entry_of(path), layout("x86_64"), port)


def address(distance: int) -> Term:
    """So many bytes in front of the image."""
    return add(const(setting().base - distance, 64), mapped(64))


def path(start: Path, fact: Term, **registers: Term) -> Path:
    """The path with a fact, and with values in registers."""
    machine = start.machine.copy()
    for name, value in registers.items():
        setting().write(machine, name, value)
    return replace(start, machine=machine, facts=(*start.facts, fact))


def start() -> Path:
    """Where nothing is known of the namespace."""
    machine = entry_machine(setting())
    memory_of(machine).origins.of_namespace = frozenset({MODE})
    return Path(machine, (equal(var("len", 64), const(7, 64)),))


def both(**others: tuple[Term, Term]) -> list[Path]:
    """Paths outside and inside with the address of is_ready in a register, and others."""
    where = setting().layout
    assert where.namespace is not None
    begin, found = start(), []
    cases = ((OUTSIDE, where.data_page), (IN_NAMESPACE, where.namespace.data_page))
    for number, (fact, distance) in enumerate(cases):
        more = {name: pair[number] for name, pair in others.items()}
        found.append(path(begin, fact, rdi=address(distance - 8), **more))
    return [relative(setting(), Questions(), one) for one in found]


def test_they_are_one() -> None:
    (one,) = as_one(both(rax=(const(1, 64), const(2, 64))))
    assert one.facts == start().facts
    assert linear(setting().read(one.machine, "rdi")) == linear(add(setting().data, const(8, 64)))
    assert setting().read(one.machine, "rax").op == "var"


def test_an_address_is_told_only_where_the_page_is_known() -> None:
    begin = start()
    where = setting().layout
    register = address(where.data_page)
    for fact, told in ((SAID, False), (OUTSIDE, True), (IN_NAMESPACE, False)):
        one = relative(setting(), Questions(), path(begin, fact, rdi=register))
        assert (setting().read(one.machine, "rdi") is setting().data) == told


@pytest.mark.parametrize(
    "others",
    [
        {"rax": (address(0x100), address(0x200))},
        {"rdi": (address(0x100), address(0x200))},
        {"rdi": (const(1, 64), const(1, 64))},
    ],
    ids=["other addresses", "no data", "no address"],
)
def test_what_reaches_the_data_otherwise_stays_apart(others: dict[str, tuple[Term, Term]]) -> None:
    begin = start()
    paths = [path(begin, OUTSIDE), path(begin, IN_NAMESPACE)]
    if "rdi" not in others:
        paths = both(**others)
    else:
        paths = [
            path(one, SAID, rdi=value) for one, value in zip(paths, others["rdi"], strict=True)
        ]
    assert as_one(paths) == paths


def test_what_differs_otherwise_stays_apart() -> None:
    one, other = both()
    read = PageRead(0, 0, 1, var("page@9", 8), 8)
    machine = other.machine.copy()
    memory_of(machine).region(STACK, Linear(64, 0)).write(-8, machine.converter.leaf(SOMETHING))
    elsewhere = other.machine.copy()
    elsewhere.pc += 4
    for changed in (
        replace(other, facts=(*other.facts, equal(var("flags", 32), const(0, 32)))),
        replace(other, events=(read,)),
        replace(other, machine=machine),
        replace(other, machine=elsewhere),
        replace(other, returned=True),
        replace(other, first=one),
        one,
    ):
        assert as_one([one, changed]) == [one, changed]
