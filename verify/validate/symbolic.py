"""A whole call of the function as the segments of its proof say it ends, on concrete inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from specs.contract import REGIONS
from verify import qemu
from verify.arch import Saved
from verify.lift.machine import UNDEFINED
from verify.lift.memory import STACK
from verify.prove.explore import Path
from verify.prove.induction import pieces
from verify.prove.invariants import FRESH, read
from verify.prove.segments import Segments
from verify.prove.setting import COUNTER_BITS, register_value
from verify.terms import Term
from verify.validate.compiled import compiled
from verify.witness import Execution
from verify.witness.registers import observed
from verify.witness.registers import read as read_register

_INITIAL = "init_"
_IN_MEMORY = re.compile(r"(\w+)(?:#\d+)?\[(-?\d+):(-?\d+)\]")


class NotComparable(Exception):
    """Why the segments say nothing of a concrete call, in words."""


@dataclass(frozen=True)
class End:
    """The state at return: registers by the ABI's names, the contents of the arenas, and the
    address at which control goes on."""

    registers: Mapping[str, int]
    memory: tuple[bytes, ...]
    target: int


@dataclass(frozen=True)
class _Cell:
    """`size` bytes that a path leaves at `offset` behind the address `base` plus a term."""

    base: Term
    offset: int
    size: int


@dataclass(frozen=True)
class _Carried:
    """What is left open at the head of the loop: `width` bits of a variable from `low` on are
    those of a location's value from `at` on."""

    variable: Term
    low: int
    width: int
    at: int


class _Way:
    """One path, ready to be followed.

    The values of `effect` are the target, the registers, then index and value of each cell, then
    those that are carried.
    """

    def __init__(self, segments: Segments, path: Path, registers: Sequence[str]) -> None:
        machine = path.machine
        if path.end == "never" or machine.memory.unknown_write:
            raise NotComparable("a path never ends, or stores to a place that is not known")
        self.exits = path.end == "exit"
        self.guard = compiled(path.guards)
        self.cells: list[_Cell] = []
        self.carried: list[_Carried] = []
        terms = [path.target]
        if self.exits:
            architecture = segments.target.architecture
            terms += [register_value(machine, segments.engine, architecture, n) for n in registers]
        for (region, index), cells in machine.memory.cells().items():
            # At the head of the loop all but dst is part of what is carried.
            if self.exits or region == "dst":
                base = segments.names.address("sp" if region == STACK else region)
                for offset, size, value in cells:
                    self.cells.append(_Cell(base, offset, size))
                    terms += [index.term(), machine.converter.term(value)]
        if not self.exits:
            for carried, value in _carried(segments, path):
                self.carried.append(carried)
                terms.append(value)
        self.effect = compiled(terms)

    @property
    def variables(self) -> tuple[Term, ...]:
        """Everything that is read of the state at its begin."""
        return (*self.guard.variables, *self.effect.variables)


def _carried(segments: Segments, path: Path) -> Iterator[tuple[_Carried, Term]]:
    """What the invariants leave open at the head, with the values that a path has there."""
    assert segments.loop is not None
    for invariant in segments.loop.invariants:
        value = read(path.machine, invariant.location)
        position = invariant.value.width
        for piece in pieces(invariant.value):
            position -= piece.width
            whole = piece.args[0] if piece.op == "extract" else piece
            if whole.op == "var" and whole.name.startswith(FRESH):
                low = piece.bounds[1] if piece.op == "extract" else 0
                yield _Carried(whole, low, piece.width, position), value


class _Memory:
    """The arenas of an execution, to be changed."""

    def __init__(self, execution: Execution) -> None:
        arenas = execution.placement.arenas
        self._arenas = [(arena.address, bytearray(arena.data)) for arena in arenas]

    def at(self, address: int, size: int) -> tuple[bytearray, int]:
        """The arena that has the bytes, and their offset in it; raises NotComparable."""
        for start, data in self._arenas:
            if start <= address and address + size <= start + len(data):
                return data, address - start
        raise NotComparable(f"it touches {size} bytes at {address:#x}, which are not mapped")

    @property
    def contents(self) -> tuple[bytes, ...]:
        """Of every arena."""
        return tuple(bytes(data) for _, data in self._arenas)


class Symbolic:
    """The segments of a function, to be followed call by call.

    `registers` are those that `follow` gives: all that QEMU shows and the lifter has. Raises
    NotComparable where the function depends on what no concrete call gives a value.
    """

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        architecture, layout = segments.target.architecture, segments.engine.layout
        self._order = architecture.byte_order
        shown = observed(architecture, Saved.CALLER, Saved.CALLEE, Saved.RESERVED)
        self._shown = [one for one in shown if one.storage in layout.registers]
        self.registers = tuple(one.name for one in self._shown)
        self._entry = [_Way(segments, path, self.registers) for path in segments.entry.paths]
        loop = segments.loop
        bodies = loop.body.paths if loop is not None else ()
        self._body = [_Way(segments, path, self.registers) for path in bodies]
        self._initial: list[tuple[Term, str]] = []
        self._undefined: dict[Term, int] = {}
        self._loaded: list[tuple[Term, Term, int, int]] = []
        ways = (*self._entry, *self._body)
        for variable in dict.fromkeys(one for way in ways for one in way.variables):
            self._classify(variable)

    def _classify(self, variable: Term) -> None:
        names, name = self._segments.names, variable.name
        own = ("sp", "ra", *(region.name for region in REGIONS))
        given = {names.address(one) for one in own} | set(names.key)
        given |= {names.count, names.nblocks, names.index, names.block_count}
        place = _IN_MEMORY.fullmatch(name)
        if variable in given or name.startswith(FRESH):
            return
        if place is not None:
            region, start, end = place[1], int(place[2]), int(place[3])
            base = names.address("sp" if region == STACK else region)
            self._loaded.append((variable, base, start, end - start))
        elif any(f"{_INITIAL}{one.storage}" == name for one in self._shown):
            self._initial.append((variable, name.removeprefix(_INITIAL)))
        elif name.startswith(UNDEFINED):
            self._undefined[variable] = 0
        else:
            raise NotComparable(f"what it does depends on {name}, which no call gives a value")

    def _beginning(self, execution: Execution) -> dict[Term, int]:
        """The values of all variables at entry; zero for what the lifter keeps besides a register,
        and for what the manual leaves undefined."""
        names, inputs = self._segments.names, execution.inputs
        architecture = self._segments.target.architecture
        addresses = execution.placement.addresses
        values = dict(zip(names.key, inputs.key, strict=True))
        values |= {names.address(region.name): addresses[region.name] for region in REGIONS}
        values |= {
            names.address("sp"): addresses[STACK],
            names.address("ra"): qemu.machine_of(architecture.name).space.returned,
            names.count: inputs.counter,
            names.nblocks: inputs.nblocks,
        }
        values |= self._undefined
        for variable, storage in self._initial:
            values[variable] = 0
            for register in self._shown:
                if register.storage == storage:
                    low = register.bits[1] if register.bits else 0
                    state = execution.start.registers
                    values[variable] |= read_register(architecture, state, register.name) << low
        return values

    def follow(self, execution: Execution) -> End:
        """The end of the call whose inputs and state at entry an execution has.

        Raises NotComparable where not exactly one path is taken.
        """
        names = self._segments.names
        values, memory = self._beginning(execution), _Memory(execution)
        ways = self._entry
        for passed in range(execution.inputs.nblocks + 2):
            for variable, base, offset, size in self._loaded:
                data, at = memory.at(values[base] + offset, size)
                values[variable] = int.from_bytes(data[at : at + size], self._order)
            taken = [way for way in ways if all(way.guard(values))]
            if len(taken) != 1:
                raise NotComparable(f"{len(taken)} paths are taken at once after {passed} blocks")
            (way,) = taken
            target, *results = way.effect(values)
            registers = dict(zip(self.registers, results, strict=False)) if way.exits else {}
            self._store(way, results[len(registers) :], values, memory)
            if way.exits:
                return End(registers, memory.contents, target)
            opened = dict.fromkeys((one.variable for one in way.carried), 0)
            open_values = results[2 * len(way.cells) :]
            for one, value in zip(way.carried, open_values, strict=True):
                part = value >> one.at & ((1 << one.width) - 1)
                opened[one.variable] |= part << one.low
            values |= opened
            values[names.index] = passed
            values[names.block_count] = (values[names.count] + passed) % (1 << COUNTER_BITS)
            ways = self._body
        raise NotComparable("it takes more passes than there are blocks")

    def _store(
        self, way: _Way, results: Sequence[int], values: Mapping[Term, int], memory: _Memory
    ) -> None:
        for number, cell in enumerate(way.cells):
            index, value = results[2 * number : 2 * number + 2]
            address = (values[cell.base] + index + cell.offset) % (1 << cell.base.width)
            data, at = memory.at(address, cell.size)
            data[at : at + cell.size] = value.to_bytes(cell.size, self._order)
