"""The shadow stack, on which code keeps return addresses once more.

Nothing else writes to it: a store faults there. Where it is not switched on its instructions do
nothing; what is shown here holds either way, for a check that would fail is refused.
"""

from __future__ import annotations

from verify.getrandom.walk.setting import Setting, memory_of
from verify.lift.cells import Cells
from verify.lift.machine import Machine, Unsupported
from verify.terms import Linear, Term, const, linear

SHADOW = "shadow stack"
"""Name of its region: at 0 the number of values on it, behind that the values, of a word each."""


def push(setting: Setting, machine: Machine, register: str) -> None:
    """What an instruction does that pushes a register."""
    cells, depth = _region(setting, machine), _depth(setting, machine)
    value = setting.read(machine, register)
    cells.write(setting.bits // 8 * (depth + 1), machine.converter.leaf(value))
    _set_depth(setting, machine, depth + 1)


def check(setting: Setting, machine: Machine, register: str) -> None:
    """What an instruction does that takes away what was pushed last, and compares it with a
    register; raises Unsupported unless they are equal."""
    cells, depth, size = _region(setting, machine), _depth(setting, machine), setting.bits // 8
    value = setting.read(machine, register)
    pushed = machine.converter.term(cells.read(size * depth, size)) if depth else None
    if pushed is None or linear(pushed) != linear(value):
        raise Unsupported(machine.instruction, "the shadow stack is not shown to hold the same")
    _set_depth(setting, machine, depth - 1)


def returns(setting: Setting, machine: Machine) -> None:
    """Raises Unsupported where a function returns and leaves something on it."""
    if _depth(setting, machine):
        raise Unsupported(machine.instruction, "it leaves something on the shadow stack")


def _region(setting: Setting, machine: Machine) -> Cells:
    return memory_of(machine).region(SHADOW, Linear(setting.bits, 0))


def _depth(setting: Setting, machine: Machine) -> int:
    cells, size = _region(setting, machine), setting.bits // 8
    if not cells.covers(0, size):
        return 0
    depth = machine.converter.term(cells.read(0, size)).value
    if depth is None:
        raise Unsupported(machine.instruction, "it is not known what is on the shadow stack")
    return depth


def _set_depth(setting: Setting, machine: Machine, depth: int) -> None:
    number: Term = const(depth, setting.bits)
    _region(setting, machine).write(0, machine.converter.leaf(number))
