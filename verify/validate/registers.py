"""The registers as lifter, ABI and QEMU name them, for whole states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from verify import qemu
from verify.arch import Architecture, Register, Saved
from verify.lift.engine import Layout
from verify.qemu.machines import PROGRAM_COUNTER
from verify.terms import Term
from verify.validate.encodings import Encoding
from verify.witness.registers import observed, read, write

INITIAL = "init_"
"""Prefix of the lifter's variables for what its registers hold before the instruction."""


class Registers:
    """The registers of an architecture that QEMU shows, and how much of them the lifter models."""

    def __init__(self, architecture: Architecture, encoding: Encoding, layout: Layout) -> None:
        self._architecture = architecture
        self._layout = layout
        self._seen = {register.name: register for register in observed(architecture, *Saved)}
        self._by_storage: dict[str, list[Register]] = {}
        for register in architecture.registers:
            self._by_storage.setdefault(register.storage, []).append(register)
        machine = qemu.MACHINES[architecture.name]
        _, self.end_of_addresses = machine.space.usable
        """Data and code can be put below this address."""
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

    def register(self, name: str) -> Register:
        """The register that the ABI calls so."""
        return self._seen[name]

    def of_storage(self, storage: str) -> tuple[str, ...]:
        """The registers that make up a storage of the lifter; none if QEMU hides one of them."""
        registers = self._by_storage.get(storage, [])
        names = tuple(register.name for register in registers)
        return names if all(name in self._seen for name in names) else ()

    def at(self, touched: range) -> tuple[str, ...]:
        """The registers in the lifter's storage at these bytes; none as in `of_storage`."""
        found: dict[str, None] = {}
        rest = set(touched)
        for storage in self._by_storage:
            start, size = self._layout.registers[storage]
            if start < touched.stop and touched.start < start + size:
                names = self.of_storage(storage)
                if not names:
                    return ()
                found |= dict.fromkeys(names)
                rest -= set(range(start, start + size))
        return () if rest else tuple(found)

    def names(self, variable: Term) -> tuple[str, ...]:
        """The registers that an initial variable of the lifter stands for, as in `of_storage`."""
        return self.of_storage(variable.name.removeprefix(INITIAL))

    def assignment(self, state: Mapping[str, int], variables: Iterable[Term]) -> dict[Term, int]:
        """The values of the lifter's initial variables in a state."""
        values = {}
        for variable in variables:
            value = 0
            for register in self._by_storage[variable.name.removeprefix(INITIAL)]:
                low = register.bits[1] if register.bits else 0
                value |= read(self._architecture, state, register.name) << low
            values[variable] = value
        return values

    def set(self, state: dict[str, int], name: str, value: int) -> None:
        """Give a register a value; bits that it does not have are dropped."""
        write(self._architecture, state, name, value)

    def first_difference(
        self, expected: Mapping[str, int], actual: Mapping[str, int]
    ) -> str | None:
        """The first of QEMU's registers on which two states differ in a bit that is modelled."""
        for name, value in expected.items():
            mask = ~self._unmodelled.get(name, 0)
            if value & mask != actual[name] & mask:
                return name
        return None
