"""Executing code from a state of which nothing is known: every register is a variable, and so is
every value that is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from verify.lift.cells import Cells
from verify.lift.convert import Converter
from verify.lift.engine import Engine
from verify.lift.machine import Machine
from verify.lift.memory import Place, RegionMemory
from verify.terms import Linear, Term, variables


@dataclass(frozen=True)
class Touch:
    """One access: `size` bytes at `address`.

    `value` is the value that is stored, or the variable that stands for what is loaded; its bytes
    lie in memory in the architecture's byte order.
    """

    write: bool
    address: Term
    size: int
    value: Term


class _Recorder(RegionMemory):
    """Memory in which nothing is known, and which keeps the values stored, in order."""

    def __init__(self, little: bool) -> None:
        super().__init__(little, {}, lambda _address, _size: None, {})
        self.little = little
        self.stored: list[Any] = []

    def copy(self) -> _Recorder:
        """An independent copy."""
        twin = _Recorder(self.little)
        twin.stored = list(self.stored)
        return twin

    def normalise(self, _address: Linear) -> Place | None:
        return None

    def load(self, _place: Place | None, _size: int, fresh: Callable[[], Any]) -> Any:
        return fresh()

    def store(self, _place: Place | None, value: Any) -> None:
        self.stored.append(value)


def unknown_machine(
    engine: Engine,
    order: Literal["little", "big"],
    address: int,
    initial: Callable[[str, int], Any],
) -> Machine:
    """A machine at an address, no address in any region; `order` is the byte order of memory.

    `initial` gives what a storage of the lifter holds, by its name and width in bits.
    """
    layout, little = engine.layout, order == "little"

    def contents(offset: int, size: int) -> tuple[int, int, Any]:
        name, start, length = layout.enclosing(offset, size)
        return start, length, initial(name, 8 * length)

    cells = Cells(layout.little, contents)
    return Machine(cells, _Recorder(little), Converter(), little, address, layout.constants)


def touches(machine: Machine) -> tuple[Touch, ...]:
    """The accesses of a machine that began as `unknown_machine`, in order."""
    assert isinstance(machine.memory, _Recorder)
    stored = iter(machine.memory.stored)
    found = []
    for access in machine.accesses:
        if access.kind == "write":
            value = machine.converter.term(next(stored))
        else:
            (value,) = variables((access.value,))
        found.append(Touch(access.kind == "write", access.address, access.size, value))
    return tuple(found)
