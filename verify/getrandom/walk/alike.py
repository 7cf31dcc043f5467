"""What paths have in common, and one machine in place of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verify.getrandom.reasoning.dependence import dependences
from verify.getrandom.walk.origins import COPIED, JOINED
from verify.getrandom.walk.setting import memory_of
from verify.lift.machine import Machine
from verify.terms import Term

if TYPE_CHECKING:
    from verify.getrandom.walk.paths import Path


def memory_alike(path: Path) -> object:
    """Equal for two paths with the same stack, pos, batch and key."""
    memory = memory_of(path.machine)
    _, _, contents = path.machine.fingerprint()
    key = memory.epoch, memory.key, memory.answers, memory.counter
    return contents, key, memory.below, memory.given_up


def registers_of(path: Path) -> dict[tuple[int, int], Term]:
    """What each register holds, by (offset, size) in bytes."""
    machine = path.machine
    return {
        (offset, size): machine.converter.term(value) for offset, size, value in machine.registers
    }


def anything_else(paths: Sequence[Path]) -> Machine:
    """The machine with variables for what is not the same on all paths."""
    machine = paths[0].machine.copy()
    memory = memory_of(machine)
    # Also of registers that the first path has never come across, for another may have.
    for offset, size in sorted({place for path in paths for place in registers_of(path)}):
        terms = [
            path.machine.converter.term(path.machine.registers.read(offset, size)) for path in paths
        ]
        if any(term is not terms[0] for term in terms):
            unknown = memory.origins.fresh(JOINED, 8 * size)
            for path, term in zip(paths, terms, strict=True):
                copied = memory_of(path.machine).copied
                held = memory.origins.settled(dependences([term]), copied, COPIED)
                memory.origins.stands_for(unknown, held)
            machine.registers.write(offset, machine.converter.leaf(unknown))
    memory.copied = frozenset.intersection(*(memory_of(path.machine).copied for path in paths))
    return machine
