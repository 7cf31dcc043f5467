"""Why a mutant does what the function does, by an argument that its proof does not use.

The two functions are compared with each other, not with the specification: block by block, from
states in which some registers may differ (`Relation`), and another solver decides. Invariants and
the word order of ChaCha20 play no part; only where it does not go without, the constants do that
the function itself has put into registers before. What is shown is that both take the same way,
access the same addresses, leave the same memory, and agree in every register that the caller may
use. Where another register differs at the return, the mutant's value is a constant, or executions
under QEMU show that it is the same for different keys; the argument then says so.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from functools import cached_property
from itertools import cycle, islice

from verify.arch import Architecture, Saved
from verify.lift.machine import Unsupported
from verify.lift.select import engine_for
from verify.mutate.constants import Constants, constants, several, single
from verify.mutate.effect import INITIAL, Way, ways
from verify.mutate.ordered import OrderedPair
from verify.mutate.pair import Pair, unsatisfiable
from verify.mutate.shape import SHAPES, Shape, calls_in, pieces_of
from verify.qemu import QemuError
from verify.target import Target
from verify.terms import (
    TRUE,
    Term,
    conjunction,
    equal,
    extract,
    var,
)
from verify.verdict import Contract
from verify.witness import candidates, execute, other_key

_WORD = 32
_SECONDS = 20.0
"""What one query may take, ..."""
_ALL_SECONDS = 120.0
"""... and all of them."""
_PAIRS = 64
_MAX_VISITS = 400


PROGRAM_COUNTERS = ("pc", "cia", "ip")
"""What lifters call the program counter, which is compared as the target."""


class Relation(IntEnum):
    """How a register of the mutant relates to that of the function; the smaller says more."""

    EQUAL = 0
    LOW = 1
    """The low 32 bits are equal."""
    CONSTANT = 2
    """The mutant's value is a constant, the function's may be anything."""
    ANY = 3

    def joined(self, other: Relation) -> Relation:
        """What holds if one of the two does."""
        if {self, other} == {Relation.LOW, Relation.CONSTANT}:
            return Relation.ANY
        return max(self, other)


Related = Mapping[str, Relation]
"""By the ABI's names of registers; those that are not named are EQUAL."""


class _Different(Exception):
    """The functions are not shown to do the same; the message says where."""


def equivalence(base: Target, mutant: Target, contract: Contract = Contract.CHACHA20) -> str:
    """The argument in one line, empty where none was found."""
    try:
        comparison = Comparison(base, mutant, SHAPES[contract])
        try:
            argument = comparison.argument({})
        except _Different:
            if SHAPES[contract].shared or not any(comparison.constants.values()):
                # What a called function leaves in registers is not known.
                return ""
            argument = comparison.argument(comparison.constants)
        left = comparison.left
        if not left:
            return argument
        if _independent_of_the_key(mutant, left):
            names = ", ".join(sorted(left))
            return f"{argument}; {names} at the return is the same for {_PAIRS} pairs of keys"
    except (_Different, Unsupported, QemuError):
        pass
    return ""


def _independent_of_the_key(mutant: Target, registers: Collection[str]) -> bool:
    """Whether executions with different keys leave the same in the registers."""
    pool = islice(cycle(candidates(mutant)), _PAIRS)
    calls = [other_key(call, number) for number, call in enumerate(pool)]
    others = [other_key(call, number + 1) for number, call in enumerate(calls)]
    done = execute(mutant, [*calls, *others])
    return all(
        one.returned and two.returned and one.register(name) == two.register(name)
        for one, two in zip(done[:_PAIRS], done[_PAIRS:], strict=True)
        for name in registers
    )


class Comparison:
    """Two functions of the same shape."""

    def __init__(
        self, base: Target, mutant: Target, shape: Shape = SHAPES[Contract.CHACHA20]
    ) -> None:
        self._shape = shape
        # Another lifter than that of the proof, where there is one that reads all of the code.
        self._base = base
        other = None if shape.shared else base.architecture.read_by_other()
        self._architecture: Architecture = other or base.architecture
        self._entry = base.function.address
        self._engines = tuple(engine_for(self._architecture, t.code) for t in (base, mutant))
        self._flows = tuple(
            shape.flow(target, engine)
            for target, engine in zip((base, mutant), self._engines, strict=True)
        )
        # What a lifter cuts into several blocks, for their length or for an instruction that it is
        # taught, is one piece here: the cuts may be elsewhere in the mutant.
        specials = [
            shape.special(target, flow)
            for target, flow in zip((base, mutant), self._flows, strict=True)
        ]
        if specials[0] != specials[1]:
            raise _Different("barriers or system calls differ")
        self._special = specials[0]
        self._pieces = tuple(
            pieces_of(
                flow,
                self._special,
                calls_in(engine, self._architecture, flow) if shape.shared else frozenset(),
            )
            for engine, flow in zip(self._engines, self._flows, strict=True)
        )
        self._successors, successors = (
            {address: flow.successors[blocks[-1]] for address, blocks in pieces.items()}
            for flow, pieces in zip(self._flows, self._pieces, strict=True)
        )
        if self._successors != successors:
            raise _Different("the control flow differs")
        self._same_bytes = {
            address
            for address in self._successors
            if self._code(0, address, base) == self._code(1, address, mutant)
        }
        self._ways: dict[tuple[int, int], tuple[Way, ...]] = {}
        self._until = time.process_time() + _ALL_SECONDS
        self.left: set[str] = set()
        """Registers that may differ at a return, and of which more is to be shown."""

    @cached_property
    def constants(self) -> Mapping[int, Constants]:
        """The constants in the function's registers at the beginning of each block."""
        return constants(
            self._base, self._architecture, lambda block: self._at(0, block), self._successors
        )

    def _code(self, side: int, address: int, target: Target) -> dict[int, bytes | None]:
        """The instructions of a piece, by their addresses."""
        blocks = self._flows[side].blocks
        return {
            at: target.code(at, target.instruction_size(at))
            for block in self._pieces[side][address]
            for at in blocks[block].instructions
        }

    def argument(self, known: Mapping[int, Constants]) -> str:
        """See `equivalence`; `known` are constants, by block. Raises _Different."""
        self.left = set()
        behind: dict[int, dict[str, Relation]] = {self._entry: {}}
        pending = [self._entry]
        visits = 0
        differing: dict[str, None] = {}
        while pending:
            address = pending.pop()
            visits += 1
            if visits > _MAX_VISITS:
                raise _Different("no fixed point")
            related = behind[address]
            if address in self._same_bytes and not related:
                after: dict[str, Relation] = {}
            elif address in self._special and address in self._same_bytes:
                after = self._through(address, related)
            else:
                after = self._behind(address, related, known.get(address, {}))
            differing |= dict.fromkeys(after)
            for following in self._successors[address]:
                before = behind.get(following)
                joined = after if before is None else _join(before, after)
                if joined != before:
                    behind[following] = joined
                    pending.append(following)
        changed = sorted(address for address in self._successors if address not in self._same_bytes)
        where = ", ".join(f"{address:#x}" for address in changed)
        used = sorted({name for address in changed for name in self._used(address, known)})
        values = f" with the function's values in {', '.join(used)}" if used else ""
        rest = f"; {', '.join(differing)} may differ behind it, unused" if differing else ""
        return f"the block at {where} does the same from any state{values}{rest}"

    def _through(self, address: int, related: Related) -> dict[str, Relation]:
        """The registers that may differ behind a barrier or a system call; raises _Different."""
        calls = self._architecture.system_calls
        code = self._base.code(address, len(calls.instruction))
        if code != calls.instruction:
            return dict(related)
        if not related.keys().isdisjoint({calls.number, *calls.arguments}):
            raise _Different(f"the system call at {address:#x} is another one")
        given = {calls.result, calls.error}
        return {name: relation for name, relation in related.items() if name not in given}

    def _used(self, address: int, known: Mapping[int, Constants]) -> set[str]:
        """The registers with constants that a block of the function reads."""
        read = {variable for way in self._at(0, address) for variable in way.read}
        return {
            register.name
            for register in self._architecture.registers
            if any(
                variable.name == f"{INITIAL}{register.storage}" and register.bits is None
                for variable in known.get(address, {}).keys() & read
            )
        }

    def _at(self, side: int, address: int) -> tuple[Way, ...]:
        key = (side, address)
        if key not in self._ways:
            blocks = [self._flows[side].blocks[block] for block in self._pieces[side][address]]
            self._ways[key] = ways(self._architecture, self._engines[side], blocks)
        return self._ways[key]

    def _behind(self, address: int, related: Related, known: Constants) -> dict[str, Relation]:
        """The registers that may differ behind a block; raises _Different."""
        one, two = self._at(0, address), self._at(1, address)
        if len(one) != len(two):
            raise _Different(f"the block at {address:#x} has other ways")
        replacement, assumptions = self._states(related)
        assumptions += several(known)
        one_value = single(known)
        found: dict[str, Relation] = {}
        for ours, theirs in zip(one, two, strict=True):
            apart = self._apart if address == self._entry else frozenset()
            mappings = one_value, {**one_value, **replacement}
            pair = (
                OrderedPair(ours, theirs, mappings, assumptions, self._architecture)
                if self._shape.shared
                else Pair(ours, theirs, mappings, assumptions, self._architecture, apart)
            )
            self._require(pair, address)
            leaves = ours.target.value is None
            differ = self._registers(pair, related, address, leaves=leaves and not ours.call)
            if ours.call and not self._shape.shared:
                raise Unsupported(address, "calls a function")
            if differ and (ours.call or (leaves and self._shape.shared)):
                raise _Different(f"registers differ where the block at {address:#x} leaves")
            found = _join(found, differ)
        return found

    def _states(self, related: Related) -> tuple[dict[Term, Term], list[Term]]:
        """The mutant's initial variables in those of the function, and what relates them."""
        replacement: dict[Term, Term] = {}
        assumptions: list[Term] = []
        parts: dict[str, dict[str, Relation]] = {}
        for name, relation in related.items():
            parts.setdefault(self._architecture.register(name).storage, {})[name] = relation
        for storage, registers in parts.items():
            size = self._engines[0].layout.registers[storage][1]
            ours = var(f"{INITIAL}{storage}", 8 * size)
            theirs = var(f"{ours.name}'", 8 * size)
            replacement[ours] = theirs
            for register in self._architecture.registers:
                if register.storage == storage:
                    high, low = register.bits or (8 * size - 1, 0)
                    match registers.get(register.name, Relation.EQUAL):
                        case Relation.EQUAL:
                            assumptions.append(
                                equal(extract(ours, high, low), extract(theirs, high, low))
                            )
                        case Relation.LOW:
                            top = low + _WORD - 1
                            assumptions.append(
                                equal(extract(ours, top, low), extract(theirs, top, low))
                            )
                        case _:
                            pass
        return replacement, assumptions

    def _require(self, pair: Pair | OrderedPair, address: int) -> None:
        """Both take this way in the same states, and access and leave the same memory."""
        theirs = pair.theirs
        if not pair.same_accesses():
            raise _Different(f"the block at {address:#x} accesses something else")
        if theirs.written - self._free:
            raise _Different(f"the block at {address:#x} writes what is not compared")
        if theirs.slow and not pair.ours.slow:
            raise _Different(f"the block at {address:#x} may take another time")
        if not self._holds(pair, [pair.same_way()], memory=not pair.same_memory()):
            raise _Different(f"the block at {address:#x} does something else")

    @cached_property
    def _apart(self) -> frozenset[Term]:
        """The variables for the stack pointer and the pointers to the regions at the entry, which
        do not overlap by the contract."""
        architecture = self._architecture
        arguments = [architecture.arguments[number] for number in self._shape.pointers]
        names = [architecture.stack_pointer, *arguments]
        layout = self._engines[0].layout.registers
        storages = [architecture.register(name).storage for name in names]
        return frozenset(var(f"{INITIAL}{name}", 8 * layout[name][1]) for name in storages)

    @cached_property
    def _free(self) -> frozenset[int]:
        """The bytes of storage that may be written: those of registers that are not reserved, and
        the program counter's."""
        layout = self._engines[0].layout.registers
        found: set[int] = set()
        names = [r.storage for r in self._architecture.registers if r.saved is not Saved.RESERVED]
        for name in (*names, *(name for name in PROGRAM_COUNTERS if name in layout)):
            start, size = layout[name]
            found |= set(range(start, start + size))
        return frozenset(found)

    def _registers(
        self, pair: Pair | OrderedPair, related: Related, address: int, *, leaves: bool
    ) -> dict[str, Relation]:
        found: dict[str, Relation] = {}
        claims = {name: equal(*values) for name, values in pair.values.items()}
        if not self._holds(pair, claims.values()):
            for name, claim in claims.items():
                relation = self._relation(pair, related, name, claim)
                if relation is not Relation.EQUAL:
                    found[name] = relation
        if leaves:
            for name, relation in found.items():
                if self._architecture.register(name).saved is not Saved.CALLER:
                    raise _Different(f"{name} differs where the function returns at {address:#x}")
                if relation is not Relation.CONSTANT:
                    self.left.add(name)
        return found

    def _relation(
        self, pair: Pair | OrderedPair, related: Related, name: str, claim: Term
    ) -> Relation:
        if claim is TRUE or self._holds(pair, [claim]):
            return Relation.EQUAL
        ours, theirs = pair.values[name]
        if theirs.value is not None:
            return Relation.CONSTANT
        if related.get(name) is Relation.CONSTANT and theirs is self._unchanged(name):
            return Relation.CONSTANT
        if theirs.width <= _WORD:
            return Relation.ANY
        low = equal(extract(ours, _WORD - 1, 0), extract(theirs, _WORD - 1, 0))
        return Relation.LOW if self._holds(pair, [low]) else Relation.ANY

    def _unchanged(self, name: str) -> Term | None:
        """What the mutant's register held before, if it is the whole of its storage."""
        register = self._architecture.register(name)
        size = self._engines[0].layout.registers[register.storage][1]
        return None if register.bits else var(f"{INITIAL}{register.storage}'", 8 * size)

    def _holds(
        self, pair: Pair | OrderedPair, claims: Iterable[Term], *, memory: bool = False
    ) -> bool:
        claim = conjunction(claims)
        if claim is TRUE and not memory:
            return True
        if time.process_time() > self._until:
            raise _Different("out of time")
        return unsatisfiable(pair.script(claim, memory=memory), _SECONDS)


def _join(one: Related, two: Related) -> dict[str, Relation]:
    names = (*one, *(name for name in two if name not in one))
    equal_ = Relation.EQUAL
    joined = {name: one.get(name, equal_).joined(two.get(name, equal_)) for name in names}
    return {name: relation for name, relation in joined.items() if relation is not equal_}
