"""P-code: angr's interpreter of it, on our machine instead of angr's state.

angr lifts the block and gives each operation its meaning (its behaviour objects); this class
gives them registers, memory and branches, and replaces whole instructions whose SLEIGH is wrong
(`semantics`). Whatever is opaque or incomplete raises Unsupported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any

import archinfo
from angr import claripy
from angr.engines.pcode.emulate import PcodeEmulatorMixin
from angr.engines.pcode.lifter import IRSB, PcodeBasicBlockLifter
from pypcode import BadDataError, OpCode, UnimplError

from verify.arch import Architecture, Saved
from verify.lift.engine import Block, CodeReader, Layout, Successor, only_true
from verify.lift.machine import Machine, Unsupported
from verify.lift.semantics import (
    Encoded,
    Semantics,
    semantics_for,
    undecoded_for,
    undefined_above,
)

_WORD_BYTES = 4
_MAX_INSTRUCTIONS = 90
"""SLEIGH is given all of a block's bytes at once; angr cuts a longer block at byte 400."""


@dataclass(frozen=True)
class _Instruction:
    address: int
    size: int
    ops: tuple[Any, ...]
    replacement: Semantics | None
    word: int


@cache
def _guest(language: str) -> archinfo.ArchPcode:
    """angr's description of a language, which takes long to make."""
    return archinfo.ArchPcode(language)


@cache
def _places(language: str, storages: frozenset[str]) -> Mapping[str, tuple[int, int]]:
    """(offset, size) of the language's registers, without those that are wider than one of the
    architecture's, whose names are given, and contain it.

    SLEIGH also has the registers of extensions that the architecture's description does not.
    """
    registers = PcodeBasicBlockLifter(_guest(language)).context.registers
    places = {name: (register.offset, register.size) for name, register in registers.items()}
    known = {places[storage] for storage in storages if storage in places}
    return MappingProxyType(
        {
            name: (start, size)
            for name, (start, size) in places.items()
            if (start, size) in known
            or not any(start <= at and at + length <= start + size for at, length in known)
        }
    )


class PcodeEngine(PcodeEmulatorMixin):  # type: ignore[misc]
    """Lifts and executes one image through P-code."""

    def __init__(self, architecture: Architecture, code: CodeReader) -> None:
        language = architecture.lifter.language
        guest = _guest(language)
        super().__init__(SimpleNamespace(arch=guest))
        # Not shared between images: SLEIGH keeps what it knows of addresses.
        self._lifter = PcodeBasicBlockLifter(guest)
        self._architecture = architecture
        self._code = code
        self._little = architecture.byte_order == "little"
        names = _places(language, frozenset(r.storage for r in architecture.registers))
        hard_wired = {r.storage for r in architecture.with_saved(Saved.CONSTANT)}
        self.layout = Layout(names, self._little, frozenset(names[name][0] for name in hard_wired))
        self._replacements: Mapping[str, Semantics] = semantics_for(architecture.instruction_set)
        self._undecoded = undecoded_for(architecture.instruction_set)
        self._undefined_above = [
            (start, start + size)
            for start, size in map(names.__getitem__, undefined_above(architecture.instruction_set))
        ]
        self._machine: Machine
        self._temporaries: dict[int, Any] = {}

    def lift(self, address: int, limit: int | None = None) -> Block:
        """The block at `address`, cut into instructions."""
        limit = min(limit or _MAX_INSTRUCTIONS, _MAX_INSTRUCTIONS)
        size = limit * self._architecture.instruction_bytes
        while size and (data := self._code(address, size)) is None:
            size -= self._architecture.instruction_bytes
        if not size:
            raise Unsupported(address, "execution leaves the code of the image")
        assert data is not None
        added = self._addition(data)
        if added is not None:
            word = self._word(data)
            alone = _Instruction(address, _WORD_BYTES, (), added.semantics, word)
            return Block(address, (address,), _WORD_BYTES, [alone])
        irsb = IRSB(None, address, self.arch)
        self._lifter.lift(irsb, address, data, max_bytes=size, max_inst=limit)
        if irsb.jumpkind == "Ijk_NoDecode" and not irsb._ops:
            raise Unsupported(address, "SLEIGH does not decode this instruction")
        instructions = self._split(irsb, data)
        if not instructions:
            raise Unsupported(address, "SLEIGH does not decode this instruction")
        addresses = tuple(instruction.address for instruction in instructions)
        last = instructions[-1]
        return Block(address, addresses, last.address + last.size - address, instructions)

    def _word(self, data: bytes) -> int:
        """The number that the bytes at an instruction of 32 bits make."""
        return int.from_bytes(data[:_WORD_BYTES], "little" if self._little else "big")

    def _addition(self, data: bytes) -> Encoded | None:
        """The meaning of the instruction at the start of the data, if SLEIGH does not decode it."""
        word = self._word(data)
        known = (one for one in self._undecoded if word & one.mask == one.value)
        return next(known, None) if len(data) >= _WORD_BYTES else None

    def _split(self, irsb: Any, data: bytes) -> list[_Instruction]:
        groups: list[tuple[int, int, list[Any]]] = []
        for op in irsb._ops:
            if op.opcode == OpCode.IMARK:
                if len(op.inputs) != 1:
                    raise Unsupported(op.inputs[0].offset, "delay slot")
                groups.append((op.inputs[0].offset, op.inputs[0].size, []))
            else:
                groups[-1][2].append(op)
        texts = {
            instruction.addr.offset: instruction.mnem
            for instruction in self._lifter.context.disassemble(
                data, irsb.addr, max_instructions=len(groups)
            ).instructions
        }
        return [
            _Instruction(
                address,
                size,
                tuple(ops),
                self._replacements.get(texts[address]),
                self._word(data[address - irsb.addr :]),
            )
            for address, size, ops in groups
        ]

    def run(self, block: Block, machine: Machine) -> list[Successor]:
        """Execute a block, see Engine.run."""
        successors: list[Successor] = []
        pending: list[tuple[Machine, int, int, dict[int, Any]]] = [(machine, 0, 0, {})]
        instructions: list[_Instruction] = block.form
        while pending:
            current, index, start, temporaries = pending.pop()
            self._machine = current
            while index < len(instructions):
                instruction = instructions[index]
                if start == 0:
                    current.begin(instruction.address)
                    temporaries = {}
                self._temporaries = temporaries
                try:
                    outcome = self._instruction(instruction, start)
                except Unsupported as error:
                    raise Unsupported(instruction.address, error.reason) from error
                except Exception as error:
                    reason = f"{type(error).__name__}: {error}"
                    raise Unsupported(instruction.address, reason) from error
                pending.extend((m, index, resume, dict(temporaries)) for m, resume in outcome.inner)
                successors.extend(outcome.outer)
                if outcome.left:
                    break
                index, start = index + 1, 0
            else:
                following = claripy.BVV(block.address + block.size, self._architecture.bits)
                successors.append(Successor(current, following, "jump"))
        return successors

    def _instruction(self, instruction: _Instruction, start: int) -> _Outcome:
        """Run the operations of one instruction from number `start`."""
        outcome = _Outcome([], [], False)
        if instruction.replacement is not None:
            instruction.replacement.run(self._machine, self.layout, instruction.word)
            return outcome
        index = start
        while index < len(instruction.ops):
            op = instruction.ops[index]
            if op.opcode in _FLOW:
                known, target = self._flow(op, index)
                if known is None:
                    self._fork(op, index, target, outcome)
                elif known:
                    if isinstance(target, int):
                        index = target
                        continue
                    outcome.outer.append(Successor(self._machine, target, _FLOW[op.opcode]))
                    return _Outcome(outcome.inner, outcome.outer, True)
            else:
                self._current_op = op
                self._current_behavior = self._lifter.behaviors.get_behavior_for_opcode(op.opcode)
                self._operation()
            index += 1
        return outcome

    def _flow(self, op: Any, index: int) -> tuple[bool | None, Any]:
        """Whether the branch is taken (None: symbolic), and its target: an operation number
        inside the instruction as int, or an address as claripy expression."""
        destination = op.inputs[0]
        if op.opcode in (OpCode.BRANCHIND, OpCode.CALLIND, OpCode.RETURN):
            return True, self._get_value(destination)
        target: Any
        if destination.space.name == "const":
            offset = destination.offset
            bits = 8 * destination.size
            target = index + (offset - (1 << bits) if offset >> (bits - 1) else offset)
        else:
            target = claripy.BVV(destination.offset, self._architecture.bits)
        if op.opcode != OpCode.CBRANCH:
            return True, target
        return only_true(self._get_value(op.inputs[1]) != 0), target

    def _fork(self, op: Any, index: int, target: Any, outcome: _Outcome) -> None:
        taken = self._get_value(op.inputs[1]) != 0
        branch = self._machine.copy()
        branch.assume(taken)
        if isinstance(target, int):
            outcome.inner.append((branch, target))
        else:
            outcome.outer.append(Successor(branch, target, "jump"))
        self._machine.assume(claripy.Not(taken))

    def _operation(self) -> None:
        if self._current_op.opcode == OpCode.LOAD:
            self._execute_load()
        elif self._current_op.opcode == OpCode.STORE:
            self._execute_store()
        elif self._current_behavior.is_special:
            name = self._current_op.opcode.__name__
            raise Unsupported(self._machine.instruction, f"P-code operation {name} is opaque")
        elif self._current_behavior.is_unary:
            self._execute_unary()
        else:
            if self._current_op.opcode in _SLOW:
                self._machine.slow(map(self._get_value, self._current_op.inputs))
            if self._current_op.opcode in _SHIFTS:
                self._refuse_far_shift()
            self._execute_binary()

    def _refuse_far_shift(self) -> None:
        """angr 10.0.5 takes a constant amount modulo 2^32 when it shifts a constant."""
        amount = self._get_value(self._current_op.inputs[1])
        if amount.concrete and amount.concrete_value >> 32:
            raise Unsupported(self._machine.instruction, "shift by 2^32 or more bits")

    def _get_value(self, varnode: Any) -> Any:
        return self._machine.converter.unfolded(self._value(varnode))

    def _value(self, varnode: Any) -> Any:
        space = varnode.space.name
        if space == "const":
            return claripy.BVV(varnode.offset, 8 * varnode.size)
        if space == "register":
            return self._machine.get(varnode.offset, varnode.size)
        if space == "unique":
            value = self._temporaries.get(varnode.offset)
            if value is None or value.size() != 8 * varnode.size:
                raise Unsupported(self._machine.instruction, "temporary read before it is set")
            return value
        return self._machine.load(
            claripy.BVV(varnode.offset, self._architecture.bits), varnode.size, self._little
        )

    def _set_value(self, varnode: Any, value: Any) -> None:
        value = self._adjust_value_size(8 * varnode.size, value)
        space = varnode.space.name
        if space == "register":
            self._machine.put(varnode.offset, value)
            self._undefine_above(varnode.offset + varnode.size)
        elif space == "unique":
            self._temporaries[varnode.offset] = value
        else:
            address = claripy.BVV(varnode.offset, self._architecture.bits)
            self._machine.store(address, value, self._little)

    def _undefine_above(self, offset: int) -> None:
        """What a narrower write leaves undefined of a register, from this offset on.

        It may still be, or depend on, what was there, for it must not pass for cleared.
        """
        behind = next((end for start, end in self._undefined_above if start < offset < end), offset)
        if size := behind - offset:
            value = self._machine.get(offset, size) ^ self._machine.undefined(size)
            self._machine.put(offset, value)

    def _execute_load(self) -> None:
        op = self._current_op
        space = op.inputs[0].getSpaceFromConst().name
        address = self._get_value(op.inputs[1])
        if space in ("ram", "mem"):
            value = self._machine.load(address, op.output.size, self._little)
        elif space == "const":
            # In the constant space the value is the offset itself.
            value = address
        else:
            raise Unsupported(self._machine.instruction, f"load from address space {space}")
        self._set_value(op.output, value)

    def _execute_store(self) -> None:
        op = self._current_op
        space = op.inputs[0].getSpaceFromConst().name
        if space not in ("ram", "mem"):
            raise Unsupported(self._machine.instruction, f"store to address space {space}")
        address = self._get_value(op.inputs[1])
        self._machine.store(address, self._get_value(op.inputs[2]), self._little)

    def targets(self, block: Block) -> tuple[int, ...]:
        """The direct successors of a block, see Engine.targets."""
        found: list[int] = []
        falls_through = True
        for instruction in block.form:
            for op in instruction.ops:
                if op.opcode not in _FLOW:
                    continue
                if op.opcode in (OpCode.BRANCHIND, OpCode.RETURN):
                    falls_through = False
                elif (
                    op.opcode in (OpCode.BRANCH, OpCode.CBRANCH)
                    and op.inputs[0].space.name != "const"
                ):
                    found.append(op.inputs[0].offset)
                    falls_through &= op.opcode == OpCode.CBRANCH
        if falls_through:
            found.append(block.address + block.size)
        return tuple(found)

    def disassemble(self, address: int, size: int) -> list[tuple[int, str]]:
        """(address, text) of each instruction of a range."""
        data = self._code(address, size) or b""
        found: list[tuple[int, str]] = []
        start = 0
        # What SLEIGH does not decode ends its disassembly.
        for offset in range(0, len(data), _WORD_BYTES) if self._undecoded else ():
            added = self._addition(data[offset:])
            if added is not None:
                found += self._decoded(data[start:offset], address + start)
                found.append((address + offset, added.text(self._word(data[offset:]))))
                start = offset + _WORD_BYTES
        return found + self._decoded(data[start:], address + start)

    def _decoded(self, data: bytes, address: int) -> list[tuple[int, str]]:
        """SLEIGH's disassembly of some bytes; nothing where it does not decode them."""
        if not data:
            return []
        try:
            instructions = self._lifter.context.disassemble(data, address).instructions
        except (BadDataError, UnimplError):
            return []
        return [(i.addr.offset, f"{i.mnem} {i.body}".strip()) for i in instructions]


_SHIFTS = {OpCode.INT_LEFT, OpCode.INT_RIGHT, OpCode.INT_SRIGHT}
_SLOW = {
    OpCode.INT_MULT,
    OpCode.INT_DIV,
    OpCode.INT_SDIV,
    OpCode.INT_REM,
    OpCode.INT_SREM,
}
"""Operations whose time depends on their operands on some implementations."""

_FLOW = {
    OpCode.BRANCH: "jump",
    OpCode.CBRANCH: "jump",
    OpCode.BRANCHIND: "jump",
    OpCode.CALL: "call",
    OpCode.CALLIND: "call",
    OpCode.RETURN: "jump",
}


@dataclass
class _Outcome:
    """Of one instruction: forks inside it, successors outside it, whether control left it."""

    inner: list[tuple[Machine, int]]
    outer: list[Successor]
    left: bool
