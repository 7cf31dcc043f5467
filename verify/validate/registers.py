"""The registers as lifter, ABI and QEMU name them, for whole states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from angr import claripy

from verify import qemu
from verify.arch import Architecture, Register, Saved
from verify.lift.engine import Layout
from verify.qemu.machines import PROGRAM_COUNTER
from verify.terms import Term
from verify.validate.encodings import Encoding
from verify.witness.registers import observed, read, write

INITIAL = "init_"
"""Prefix of the variables for what the registers of the ABI hold before the instruction."""
HIDDEN = "hidden_"
"""The same for what the lifter keeps besides."""


class Registers:
    """The registers of an architecture that QEMU shows, and how much of them the lifter models."""

    def __init__(self, architecture: Architecture, encoding: Encoding, layout: Layout) -> None:
        self._architecture = architecture
        self._layout = layout
        self.scratch = architecture.scratch
        self._seen = {register.name: register for register in observed(architecture, *Saved)}
        self._by_storage: dict[str, list[Register]] = {}
        for register in architecture.registers:
            self._by_storage.setdefault(register.storage, []).append(register)
        machine = qemu.MACHINES[architecture.name]
        self.usable = machine.space.usable
        """The first address at which data and code can be put, and the first one behind them."""
        self.settable = {
            name: encoding.settable.get(name, (1 << place.bits) - 1)
            for name, place in machine.places.items()
            if name != PROGRAM_COUNTER
        }
        """The bits that a state may give to each of QEMU's registers."""
        self.settable |= dict.fromkeys(machine.constant, 0)
        self.restricted = {name: encoding.settable[name] for name in encoding.settable}
        """Those of which not all bits may be set."""
        ones = dict.fromkeys(machine.places, 0)
        for name in self._seen:
            if name not in machine.constant:
                write(architecture, ones, name, -1)
        self._unmodelled = {
            name: missing
            for name, place in machine.places.items()
            if name not in machine.constant and name != PROGRAM_COUNTER
            for missing in (((1 << place.bits) - 1) & ~ones[name],)
            if missing
        }

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """What is set but not compared, since the lifter has no variable for it: name and bits."""
        return tuple(f"{name} & {bits:#x}" for name, bits in self._unmodelled.items())

    @property
    def byte_order(self) -> Literal["little", "big"]:
        """That of data in memory."""
        return self._architecture.byte_order

    def register(self, name: str) -> Register:
        """The register that the ABI calls so."""
        return self._architecture.register(name)

    def initial(self, storage: str, width: int) -> Any:
        """What the lifter's storage of `width` bits holds before the instruction: a variable for
        each register in it, zero where it has bits that are none."""
        if storage not in self._by_storage:
            return claripy.BVS(f"{HIDDEN}{storage}", width, explicit_name=True)
        parts, above = [], width
        for register in sorted(self._by_storage[storage], key=lambda one: one.bits or (0, 0)):
            high, low = register.bits or (width - 1, 0)
            parts.append((high, low, register.name))
        pieces = []
        for high, low, name in reversed(parts):
            if high + 1 < above:
                pieces.append(claripy.BVV(0, above - high - 1))
            pieces.append(claripy.BVS(f"{INITIAL}{name}", high - low + 1, explicit_name=True))
            above = low
        if above:
            pieces.append(claripy.BVV(0, above))
        return pieces[0] if len(pieces) == 1 else claripy.Concat(*pieces)

    def at(self, touched: range) -> tuple[str, ...]:
        """The registers, of which QEMU may hide some, in the lifter's storage at these bytes; none
        where some of the bytes belong to no register."""
        found: dict[str, None] = {}
        rest = set(touched)
        for storage, registers in self._by_storage.items():
            start, size = self._layout.registers[storage]
            rest -= set(range(start, start + size))
            for register in registers:
                high, low = register.bits or (8 * size - 1, 0)
                first, behind = low // 8, high // 8 + 1
                if not self._layout.little:
                    first, behind = size - behind, size - first
                if start + first < touched.stop and touched.start < start + behind:
                    found[register.name] = None
        return () if rest else tuple(found)

    def shown(self, name: str) -> bool:
        """Whether QEMU shows the register."""
        return name in self._seen

    def name(self, variable: Term) -> str | None:
        """The register that an initial variable stands for, None where QEMU does not show it."""
        name = variable.name.removeprefix(INITIAL)
        return name if variable.name.startswith(INITIAL) and self.shown(name) else None

    def assignment(self, state: Mapping[str, int], variables: Iterable[Term]) -> dict[Term, int]:
        """The values of initial variables in a state."""
        return {
            variable: read(self._architecture, state, variable.name.removeprefix(INITIAL))
            for variable in variables
        }

    def set(self, state: dict[str, int], name: str, value: int) -> None:
        """Give a register a value; bits that it does not have are dropped."""
        write(self._architecture, state, name, value)

    def first_difference(
        self, expected: Mapping[str, int], actual: Mapping[str, int], undefined: Iterable[str] = ()
    ) -> str | None:
        """The first of QEMU's registers on which two states differ in a bit that is modelled, and
        is none of the ABI's registers that are undefined."""
        free: dict[str, int] = {}
        for name in undefined:
            write(self._architecture, free, name, -1)
        for name, value in expected.items():
            mask = ~(self._unmodelled.get(name, 0) | free.get(name, 0))
            if value & mask != actual[name] & mask:
                return name
        return None
