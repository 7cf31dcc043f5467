"""What each instruction is there for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from verify.anatomy import Part, Role
from verify.annotate.feeding import Feeding, Stores, code_reads
from verify.annotate.flow import branch_roles
from verify.annotate.values import (
    address_in_words,
    blocks_in_words,
    in_words,
    kept_registers,
    sum_in_words,
    written_part,
)
from verify.annotate.wipes import wiped
from verify.annotate.words import Words
from verify.arch import Register
from verify.lift.machine import RegisterWrite
from verify.lift.memory import STACK, Access
from verify.prove.place import Operation
from verify.prove.segments import Segment, Segments
from verify.terms import Term, linear

_WIDEST_CONSTANT = 64
_ORDER = list(Part)
_WRAPPERS = ("zero_extend", "sign_extend", "concat")


@dataclass
class _Sets:
    rounds: set[int] = field(default_factory=set)
    quarter_rounds: set[int] = field(default_factory=set)
    words: set[int] = field(default_factory=set)


class Roles:
    """The roles of all instructions, put together from what is seen on each path."""

    def __init__(self) -> None:
        self._found: dict[int, dict[tuple[Part, str], _Sets]] = {}

    def add(self, instruction: int, part: Part, what: str, words: Iterable[int] = ()) -> None:
        """An instruction has a role."""
        found = self._found.setdefault(instruction, {}).setdefault((part, what), _Sets())
        found.words.update(words)

    def add_operation(self, instruction: int, part: Part, kind: str, made: Operation) -> None:
        """An instruction does an operation, or a step of it."""
        self.add(instruction, part, kind, (made.word,))
        if made.round:
            found = self._found[instruction][part, kind]
            found.rounds.add(made.round)
            found.quarter_rounds.add(made.quarter_round)

    def has(self, instruction: int, part: Part, what: str) -> bool:
        """Whether an instruction has that role."""
        return (part, what) in self._found.get(instruction, {})

    def of(self, instruction: int) -> tuple[Role, ...]:
        """What is known of an instruction."""
        found = dict(self._found.get(instruction, {}))
        if {part for part, _ in found} - {Part.CONSTANT, Part.WIPE}:
            # Zeros beside what is meant, in the upper part of a register.
            found.pop((Part.CONSTANT, "0x0"), None)
        return tuple(
            Role(
                part,
                what,
                tuple(sorted(sets.rounds)),
                tuple(sorted(sets.quarter_rounds)),
                tuple(sorted(sets.words)),
            )
            for (part, what), sets in sorted(
                found.items(), key=lambda one: (_ORDER.index(one[0][0]), one[0][1])
            )
        )


def roles_of(
    segments: Segments, words: Words, stores: Stores, counting: Mapping[int, int]
) -> Roles:
    """The roles of all instructions. `counting` are those that count the passes of a loop, with its
    head."""
    roles = Roles()
    for instruction, head in counting.items():
        roles.add(instruction, Part.LOOP, f"counts the passes of the loop at {head:#x}")
    branches = branch_roles(segments)
    for instruction, part, what in branches:
        roles.add(instruction, part, what)
    for instruction, names in wiped(segments).items():
        roles.add(instruction, Part.WIPE, ", ".join(names))
    deciding = {instruction for instruction, part, _ in branches if part is Part.LOOP}
    reader = _Reader(segments, words, stores, roles, counting, deciding)
    for segment in segments:
        reader.read(segment)
    reader.finish()
    return roles


class _Reader:
    """Goes through the segments instruction by instruction."""

    def __init__(
        self,
        segments: Segments,
        words: Words,
        stores: Stores,
        roles: Roles,
        counting: Collection[int],
        deciding: Collection[int],
    ) -> None:
        self._segments = segments
        self._words = words
        self._roles = roles
        self._counting = counting
        self._stores = stores
        self._feeding = Feeding(segments, words, stores, deciding)
        self._overlapping = _overlapping(segments)
        self._kept = kept_registers(segments)
        self._constants = code_reads(segments)
        self._claimed: dict[Term, int] = {}
        self._seen: dict[int, list[Term]] = {}
        """The words claimed by each write so far; paths that part share those before."""
        self._late: list[tuple[int, Operation, str]] = []
        """Operations that change nothing, with an instruction that may carry them out."""

    def read(self, segment: Segment) -> None:
        """Look at everything that a segment writes."""
        self._claimed = {}
        machine = segment.machine
        events: list[RegisterWrite | Access] = [*machine.register_writes]
        events += [access for access in machine.accesses if access.kind == "write"]
        events.sort(key=_step)
        for _, group in groupby(events, _step):
            here: set[Term] = set()
            for event in group:
                claimed = self._seen.get(id(event))
                if claimed is None:
                    claimed = self._seen[id(event)] = []
                    if isinstance(event, RegisterWrite):
                        self._write(event, here, claimed)
                    else:
                        self._store(event)
                else:
                    here.update(claimed)
                for word in claimed:
                    self._claimed[word] = self._claimed.get(word, 0) + 1

    def finish(self) -> None:
        """An operation that changes nothing is carried out by an instruction that carries out
        others of its kind; another instruction with its result moves it."""
        for instruction, operation, kind in self._late:
            if self._roles.has(instruction, Part.OPERATION, kind):
                self._roles.add_operation(instruction, Part.OPERATION, kind, operation)
            else:
                self._roles.add(instruction, Part.MOVE, "", (operation.word,))

    def _write(self, write: RegisterWrite, here: set[Term], claimed: list[Term]) -> None:
        instruction, value = write.instruction, write.value
        known = value.value
        if self._for_caller(write):
            return
        if known is None and (held := self._words.held(value)):
            self._operations(instruction, held, here, claimed)
        elif initial := self._words.initial_words(value):
            self._roles.add(instruction, Part.INITIAL, "", initial)
        elif known is not None and known in self._constants:
            self._roles.add(instruction, Part.ADDRESS, f"{known:#x} in the image")
        elif known is not None:
            if instruction not in self._counting:
                shown = f"{known:#x}" if value.width <= _WIDEST_CONSTANT or not known else ""
                self._roles.add(instruction, Part.CONSTANT, shown)
        elif where := address_in_words(value):
            self._roles.add(instruction, Part.ADDRESS, where)
        else:
            if left := blocks_in_words(value):
                self._roles.add(instruction, Part.LOOP, left)
            self._computation(instruction, value)

    def _for_caller(self, write: RegisterWrite) -> bool:
        """Whether the write moves the stack pointer, or saves or restores a register."""
        pointer = self._segments.target.architecture.stack_pointer
        for register in self._overlapping(write):
            part = written_part(self._segments, write, register)
            if part is None:
                continue
            if register.name == pointer:
                self._roles.add(write.instruction, Part.FRAME, sum_in_words(linear(part)))
                return True
            if self._kept.get(part) == register:
                self._roles.add(write.instruction, Part.RESTORE, register.name)
                return True
        if write.value in self._kept:
            self._roles.add(write.instruction, Part.SAVE, in_words(self._segments, write.value))
            return True
        return False

    def _operations(
        self, instruction: int, held: list[Term], here: set[Term], claimed: list[Term]
    ) -> None:
        """Each word is the result of its next operation, or moved where it has no further one."""
        moved: list[int] = []
        made = False
        for word in dict.fromkeys(held):
            if word in here:
                continue
            here.add(word)
            numbers = self._words.numbers[word]
            done = self._claimed.get(word, 0)
            operation, kind = self._words.made(numbers[min(done, len(numbers) - 1)])
            if done >= len(numbers):
                moved.append(operation.word)
                continue
            claimed.append(word)
            if done:
                self._late.append((instruction, operation, kind))
            else:
                made = True
                self._roles.add_operation(instruction, Part.OPERATION, kind, operation)
        if moved and not made:
            self._roles.add(instruction, Part.MOVE, "", moved)

    def _computation(self, instruction: int, value: Term) -> None:
        for term in (value, *(value.args if value.op in _WRAPPERS else ())):
            for word in self._feeding.steps.get(term, ()):
                operation, kind = self._words.made(self._words.numbers[word][0])
                self._roles.add_operation(instruction, Part.STEP, kind, operation)
            for part, what, numbers in self._feeding.others.get(term, ()):
                self._roles.add(instruction, part, what, numbers)

    def _store(self, access: Access) -> None:
        place, instruction, value = access.place, access.instruction, access.value
        if place is None or value.value is not None:
            return
        if place.region == "dst":
            numbers = self._stores.output_words(access)
            if numbers and self._words.outputs.issuperset(numbers):
                self._roles.add(instruction, Part.OUTPUT, "", numbers)
        elif place.region == "counter":
            self._roles.add(instruction, Part.COUNTER, "stored")
        elif held := self._words.held(value):
            moved = (self._words.made(self._words.numbers[word][0])[0].word for word in held)
            self._roles.add(instruction, Part.MOVE, "", moved)
        elif initial := self._words.initial_words(value):
            self._roles.add(instruction, Part.INITIAL, "", initial)
        elif place.region == STACK and (what := in_words(self._segments, value)):
            self._roles.add(instruction, Part.SAVE, what)


def _step(event: RegisterWrite | Access) -> int:
    return event.step


def _overlapping(segments: Segments) -> Callable[[RegisterWrite], tuple[Register, ...]]:
    """The registers of which a write changes something."""
    layout = segments.engine.layout
    architecture = segments.target.architecture
    registers = [(one, *layout.registers[one.storage]) for one in architecture.registers]
    known: dict[tuple[int, int], tuple[Register, ...]] = {}

    def overlapping(write: RegisterWrite) -> tuple[Register, ...]:
        low, high = write.offset, write.offset + write.value.width // 8
        if (low, high) not in known:
            known[low, high] = tuple(
                one for one, first, size in registers if first < high and low < first + size
            )
        return known[low, high]

    return overlapping
