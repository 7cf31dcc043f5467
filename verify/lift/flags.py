"""The arithmetic flags of architectures whose flags VEX keeps as the operation that set them.

VEX's registers for them are a thunk: a number for the operation and its operands. Here the flags
are settled behind each instruction: the operation is always the one that says that the first
operand holds the flags themselves. So they are one register, whose bits are the architecture's, and
do not depend on how a path came by them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.machine import Machine
from verify.terms import extract


def _all_defined(_code: bytes) -> int:
    return 0


@dataclass(frozen=True)
class FlagThunk:
    """The names of VEX's registers for the flags, and of the helper that computes them.

    `operands`: the first one holds the flags when the operation is `copied`. `helper` computes the
    flags, in the bits in which `operands[0]` holds them, from the operation and the operands.
    `undefined` gives the bits that the manual leaves undefined behind the instruction at the start
    of some bytes.
    """

    operation: str
    operands: tuple[str, ...]
    helper: str
    copied: int
    undefined: Callable[[bytes], int] = _all_defined


Helper = Callable[[str, str, Any], Any]
"""The engine's evaluation of a helper: name, type of the result, arguments."""


class Flags:
    """The flags of the machine at hand; `code` gives the instruction at an address."""

    def __init__(
        self, thunk: FlagThunk, layout: Layout, helper: Helper, code: Callable[[int], bytes]
    ) -> None:
        self._thunk = thunk
        self._code = code
        self._helper = helper
        self._places = [layout.registers[n] for n in (thunk.operation, *thunk.operands)]
        self._offsets = [offset for offset, _ in self._places]
        self._written: dict[int, Any] = {}

    def __contains__(self, offset: int) -> bool:
        """Whether the register at that offset belongs to the thunk."""
        return offset in self._offsets

    def get(self, machine: Machine, offset: int) -> Any:
        """The value of a register of the thunk."""
        if offset in self._written:
            return self._written[offset]
        operation, flags, *_ = self._places
        if offset == flags[0]:
            # Bit by bit, so that a flag that is certain is seen to be.
            term = machine.converter.term(machine.get(*flags))
            places = range(term.width - 1, -1, -1)
            return claripy.Concat(*(machine.converter.leaf(extract(term, n, n)) for n in places))
        width = 8 * operation[1]
        return claripy.BVV(self._thunk.copied if offset == operation[0] else 0, width)

    def put(self, offset: int, value: Any) -> None:
        """Write a register of the thunk."""
        self._written[offset] = value

    def discard(self) -> None:
        """Execution begins anew: forget what an instruction has set that was not executed fully."""
        self._written.clear()

    def settle(self, machine: Machine) -> None:
        """The instruction at hand ends: put the flags that it has set into their register."""
        if self._written:
            arguments = [self.get(machine, offset) for offset in self._offsets]
            value = self._helper(self._thunk.helper, "Ity_I64", arguments)
            self._written.clear()
            machine.put(self._offsets[1], self._with_undefined(machine, value))

    def _with_undefined(self, machine: Machine, value: Any) -> Any:
        """The flags, those of them free that the manual leaves undefined.

        They may still be, or depend on, what was there, for they must not pass for cleared.
        """
        bits = self._thunk.undefined(self._code(machine.instruction))
        if not bits:
            return value
        flags = self._places[1]
        free = machine.get(*flags) ^ machine.undefined(flags[1])
        # Put together, not masked, so that a flag that is certain is seen to be.
        places = range(value.size() - 1, -1, -1)
        runs = [(one, list(run)) for one, run in groupby(places, lambda n: bits >> n & 1)]
        return claripy.Concat(*((free if one else value)[run[0] : run[-1]] for one, run in runs))
