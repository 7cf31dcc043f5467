"""Symbolic execution of a getrandom, block by block, with its calls replaced by their contracts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from verify.arch import Saved
from verify.getrandom.claims import Claim, Difference
from verify.getrandom.reasoning.questions import Facts, Questions
from verify.getrandom.walk import frames, shadow, signing
from verify.getrandom.walk.contracts import chacha20, system_call
from verify.getrandom.walk.events import Event
from verify.getrandom.walk.mapped import address_in, mapped
from verify.getrandom.walk.onedata import as_one, relative
from verify.getrandom.walk.setting import Setting, memory_of
from verify.getrandom.walk.settling import with_events
from verify.lift.cells import Cells
from verify.lift.engine import Block, Successor
from verify.lift.machine import Machine, Unsupported
from verify.prove.setting import UNDESCRIBED, undescribed
from verify.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    const,
    equal,
    negate,
    postorder,
    substitute,
    variables,
)

_MOST_BLOCKS = 4000


@dataclass(frozen=True)
class Path:
    """One path from the entry: the machine, what holds on it, what it has done.

    `breaches` are what it did to registers and stack that is not shown to be allowed. `returned`
    says that it is at its end. `blocks` is how many it has executed, `first` the path when it first
    came to the head of the retry loop.
    """

    machine: Machine
    facts: Facts
    events: tuple[Event, ...] = ()
    breaches: tuple[Difference, ...] = ()
    returned: bool = False
    blocks: int = 0
    first: Path | None = None


@dataclass(frozen=True)
class Steering:
    """Something that steers: what the instruction at `at` does, or how long it takes, depends on
    `value`. `chooses` is whether what is computed depends on it without being a term of it."""

    at: int
    what: str
    value: Term
    chooses: bool


class Walker:
    """Executes the code of one setting. `steering` is what steers in all that was executed."""

    def __init__(self, setting: Setting, questions: Questions) -> None:
        self.setting = setting
        self.questions = questions
        self.steering: dict[Steering, None] = {}
        self._lifted: dict[int, Block] = {}
        self._cut: set[int] = set()
        self._decided: set[int] = set()
        """The hashes of values without a choice."""

    @cached_property
    def owners(self) -> dict[int, int]:
        """The block of the control flow around each place at which execution may stand."""
        return {
            start: block.address
            for block in self.setting.flow.blocks.values()
            for start in (block.address, *self._cuts(block))
        }

    def _cuts(self, block: Block) -> Iterator[int]:
        special = self.setting.special
        for before, at in zip((None, *block.instructions), block.instructions, strict=False):
            if at in special or before in special:
                yield at

    def _block(self, address: int) -> Block:
        """What is executed in one go from an address on."""
        if address not in self._lifted:
            owner = self.owners.get(address)
            if owner is None:
                raise Unsupported(address, "a path leads to code that direct branches do not reach")
            whole = self.setting.flow.blocks[owner]
            rest = [at for at in whole.instructions if at >= address]
            special, cut = self.setting.special, self._cut
            length = next(
                (n for n, at in enumerate(rest) if at in special or (n and at in cut)), len(rest)
            )
            self._lifted[address] = (
                whole
                if length == len(whole.instructions)
                else self.setting.engine.lift(address, length)
            )
        return self._lifted[address]

    def _end_before(self, address: int, block: Block) -> None:
        """From now on end what is executed in one go in front of an instruction of the block."""
        self._cut.add(address)
        self.owners[address] = self.owners[block.address]
        del self._lifted[block.address]

    def step(self, path: Path, *, checked: bool = True) -> list[Path]:
        """Everything that may come of the next block, call or system call.

        `checked` is whether accesses to the batch have to be shown to lie in it, and whether what
        steers counts; without that what is found proves nothing.
        """
        given, machine = path, path.machine.copy()
        memory = memory_of(machine)
        memory.events.clear()
        memory.at = at = machine.pc
        path = replace(path, blocks=path.blocks + 1)
        if path.blocks > _MOST_BLOCKS:
            raise Unsupported(at, f"a path does not end within {_MOST_BLOCKS} blocks")
        if at in self.setting.special:
            machine.begin(at)
            if at in self.setting.pushes:
                shadow.push(self.setting, machine, self.setting.pushes[at])
            if at in self.setting.checks:
                shadow.check(self.setting, machine, self.setting.checks[at])
            if at in self.setting.signs:
                signing.sign(self.setting, machine, self.setting.signs[at])
            if at in self.setting.authenticates:
                signing.authenticate(self.setting, machine, self.setting.authenticates[at])
            if at in self.setting.system_calls:
                granted = system_call(self.setting, machine)
                path = replace(path, facts=(*path.facts, *granted))
            machine.pc = at + self.setting.target.instruction_size(at)
            return self._resolved(self._done(path, machine, checked), checked)
        block = self._block(at)
        before = machine.copy()
        try:
            successors = self.setting.engine.run(block, machine)
        except Unsupported as error:
            if error.address not in block.instructions[1:]:
                raise
            # What was chosen in front of it may decide it, once each way is followed by itself.
            self._end_before(error.address, block)
            return self.step(given, checked=checked)
        found = []
        for successor in successors:
            facts = self._facts(path, successor, forked=len(successors) > 1)
            if facts is not None:
                taken = replace(path, facts=facts)
                after = self._after(taken, before, successor, block, checked)
                found += self._whatever_namespace(self._resolved(after, checked))
        return found

    def _whatever_namespace(self, paths: list[Path]) -> list[Path]:
        """The paths, with one for both cases of a time namespace where that is possible."""
        if not self.setting.one_path:
            return paths
        return as_one(
            [
                one if one.first is not None else relative(self.setting, self.questions, one)
                for one in paths
            ]
        )

    def _resolved(self, path: Path, checked: bool) -> list[Path]:
        """The path for each way in which the choices in its registers, stack and pos can go.

        What they hold is without choices then, and questions about it are simple.
        """
        found, pending = [], [path]
        while pending:
            path = pending.pop()
            machine = path.machine
            condition = self._open(machine)
            if condition is None:
                found.append(path)
                continue
            if checked:
                self._steers(machine.instruction, "a choice", condition, chooses=True)
            for way, value in ((condition, TRUE), (negate(condition), FALSE)):
                facts = (*path.facts, *(() if way in path.facts else (way,)))
                if not self.questions.possible(facts, path.facts):
                    continue
                pending.append(
                    replace(path, facts=facts, machine=self._chosen(machine, condition, value))
                )
        return found

    def _open(self, machine: Machine) -> Term | None:
        """The condition of a choice in what registers, stack and pos hold; None without any."""
        for _, _, value in self._values(machine):
            # The converter keeps the value, so that its hash stays its own.
            if value.hash() not in self._decided:
                parts = postorder([machine.converter.term(value)])
                condition = next((part.args[0] for part in parts if part.op == "ite"), None)
                if condition is not None:
                    return condition
                self._decided.add(value.hash())
        return None

    def _values(self, machine: Machine) -> Iterator[tuple[Cells, int, Any]]:
        """What registers, stack and pos hold: where, at which offset, and the value. Conditions are
        left out: a branch on one decides it."""
        for cells in (machine.registers, *memory_of(machine).cells().values()):
            for offset, _, value in cells:
                if cells is not machine.registers or offset not in self.setting.conditions:
                    yield cells, offset, value

    def _chosen(self, machine: Machine, condition: Term, value: Term) -> Machine:
        """The machine where a condition is true or false."""
        machine = machine.copy()
        for cells, offset, held in list(self._values(machine)):
            if held.hash() not in self._decided:
                (term,) = substitute([machine.converter.term(held)], {condition: value})
                cells.write(offset, machine.converter.leaf(self.setting.simplify(term)))
        return machine

    def _facts(self, path: Path, successor: Successor, *, forked: bool) -> Facts | None:
        """What holds behind a branch, None where it cannot be taken."""
        machine = successor.machine
        guards = [self.setting.simplify(machine.converter.term(one)) for one in machine.guards]
        new = tuple(one for one in guards if one.value is None)
        if any(one.value == 0 for one in guards):
            return None
        facts = (*path.facts, *(one for one in new if one not in path.facts))
        if forked and new and not self.questions.possible(facts, path.facts):
            return None
        return facts

    def _after(
        self, path: Path, before: Machine, successor: Successor, block: Block, checked: bool
    ) -> Path:
        setting, machine = self.setting, successor.machine
        at = undescribed(machine, setting.described)
        if at is not None:
            raise Unsupported(at, UNDESCRIBED)
        breaches = (*path.breaches, *self._breaches(before, machine))
        if checked:
            self._note(machine)
        self._tidy(machine)
        path = replace(path, breaches=tuple(dict.fromkeys(breaches)))
        target = machine.converter.term(successor.target)
        address = self._address(path, target)
        if successor.kind == "call":
            if address in setting.calls:
                machine.pc = address
                return self._done(path, machine, checked)
            if address != setting.target.function.address:
                raise Unsupported(machine.instruction, "calls something else than ChaCha20")
            machine.pc = block.address + block.size
            memory_of(machine).at = machine.instruction
            chacha20(setting, machine, path.facts, self.questions)
            return self._done(path, machine, checked)
        if successor.kind != "jump":
            raise Unsupported(machine.instruction, successor.kind)
        if address is not None:
            machine.pc = address
            return self._done(path, machine, checked)
        if not self.questions.follows(path.facts, equal(target, setting.argument("ra"))):
            raise Unsupported(machine.instruction, "jumps to an address that is not the caller's")
        shadow.returns(setting, machine)
        return replace(self._done(path, machine, checked), returned=True)

    def _address(self, path: Path, target: Term) -> int | None:
        """The address of the image that control goes to, where the image is read; None where it is
        none."""
        address = address_in(target)
        if address is None:
            # Without bits that the instruction ignores it may be one.
            there = mapped(target.width)
            if variables([target]) == {there}:
                (read,) = substitute([target], {there: const(0, target.width)})
                goes_along = equal(target, add(read, there))
                if self.questions.follows(path.facts, goes_along):
                    return read.value
        return address

    def _note(self, machine: Machine) -> None:
        """What steers in what the last block did."""
        for at, guard in zip(machine.branches, machine.guards, strict=True):
            condition = machine.converter.term(guard)
            self._steers(at, "a branch", self.setting.simplify(condition), chooses=True)
        for access in machine.accesses:
            what = f"the address of a {access.kind}"
            self._steers(access.instruction, what, access.address, chooses=False)
        for operand in machine.slow_operands:
            what = "an operand of a multiplication or division"
            self._steers(operand.instruction, what, operand.value, chooses=False)

    def _steers(self, at: int, what: str, value: Term, *, chooses: bool) -> None:
        if value.value is None:
            self.steering[Steering(at, what, value, chooses)] = None

    def _tidy(self, machine: Machine) -> None:
        """Simplify what was written to registers, and forget what has been looked at."""
        for write in machine.register_writes:
            size = write.value.width // 8
            term = machine.converter.term(machine.registers.read(write.offset, size))
            simple = self.setting.simplify(term)
            if simple is not term:
                machine.registers.write(write.offset, machine.converter.leaf(simple))
        machine.register_writes.clear()
        machine.accesses.clear()
        machine.guards.clear()
        machine.branches.clear()
        machine.slow_operands.clear()
        del machine.steps[:-1]

    def _breaches(self, before: Machine, machine: Machine) -> Iterator[Difference]:
        """What is not shown to be allowed of what the last block did to registers and stack."""
        setting, architecture = self.setting, self.setting.architecture
        layout = setting.engine.layout.registers
        for register in architecture.with_saved(Saved.RESERVED):
            offset, size = layout[register.storage]
            kept = before.converter.term(before.registers.read(offset, size))
            for write in machine.register_writes:
                same = (write.offset, write.value) == (offset, kept)
                end = write.offset + write.value.width // 8
                if write.offset < offset + size and offset < end and not same:
                    at = write.instruction - setting.base
                    reason = f"{at:#x}: writes the reserved register {register.name}"
                    yield Difference(frozenset({Claim.ABI}), reason)
        for at, claims, what in frames.breaches(setting, before, machine):
            yield Difference(claims, f"{at - setting.base:#x}: {what}")

    def _done(self, path: Path, machine: Machine, checked: bool) -> Path:
        """The path with what its last block did."""
        new = tuple(memory_of(machine).events)
        done = with_events(
            self.setting, self.questions, replace(path, machine=machine), new, checked
        )
        memory_of(machine).events.clear()
        return done
