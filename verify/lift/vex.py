"""VEX: angr's interpreter of it, on our machine instead of angr's state.

angr's own mixins decode the statements and give each operation its meaning; this class gives
them registers, memory and exits. Whatever those mixins leave to others raises Unsupported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import archinfo
import pyvex
from angr import claripy
from angr.engines.vex.claripy.datalayer import ClaripyDataMixin
from angr.errors import UnsupportedIROpError
from angr.sim_options import SUPPORT_FLOATING_POINT
from pyvex.lifting.libvex import LibVEXLifter
from pyvex.lifting.lift_function import lifters

from verify.arch import Architecture, Saved
from verify.lift.engine import FAULT, Block, CodeReader, Layout, Successor, only_true
from verify.lift.flags import Flags
from verify.lift.machine import Machine, Unsupported
from verify.lift.semantics import (
    Encoded,
    alignment_for,
    elements_for,
    encoded_for,
    flags_for,
    helpers_for,
    ignored_for,
    operations_for,
    registers_for,
    text_for,
    undefined_beside_floats,
)
from verify.lift.semantics.vex import OPERATIONS, concat, lanes

_MAX_INSTRUCTIONS = 99
_WORD_BYTES = 4
_FLOW = {"Ijk_Boring": "jump", "Ijk_Ret": "jump", "Ijk_Call": "call"}
_MISALIGNED = "Ijk_SigSEGV"
_KINDS = {**_FLOW, _MISALIGNED: FAULT}


_UNSET = ("arm64_cache_block_size", "arm64_requires_fallback_LLSC", "ppc_scv_supported")
"""What archinfo 10.0.5 does not tell VEX of the processor, so that VEX reads what lies there."""


def _archinfo(architecture: Architecture) -> archinfo.Arch:
    little = architecture.instruction_order == "little"
    endness = archinfo.Endness.LE if little else archinfo.Endness.BE
    guest = getattr(archinfo, architecture.lifter.language)(endness)
    guest.vex_archinfo = {**dict.fromkeys(_UNSET, 0), **guest.vex_archinfo}
    return guest


_SLOW = ("Iop_Mul", "Iop_Div", "Iop_Mod")
"""Operations whose time depends on their operands on some implementations."""
_FLOATING = re.compile(r"Iop_(?!Reinterp).*(F\d|\dF)")
"""Operations on floating-point numbers, other than taking their bits."""


class VexEngine(ClaripyDataMixin):  # type: ignore[misc]
    """Lifts and executes one image through VEX."""

    def __init__(self, architecture: Architecture, code: CodeReader) -> None:
        self._guest = _archinfo(architecture)
        # Of what VEX does not decode others only guess at the length, and take it for a nop.
        lifters[self._guest.name] = [LibVEXLifter]
        self._length = architecture.instruction_length
        super().__init__(SimpleNamespace(arch=self._guest))
        self._code = code
        names = {
            register.name: (register.vex_offset, register.size)
            for register in self._guest.register_list
            if register.vex_offset is not None
        } | dict(registers_for(architecture.instruction_set))
        hard_wired = {r.storage for r in architecture.with_saved(Saved.CONSTANT)}
        self.layout = Layout(
            names,
            self._guest.register_endness == archinfo.Endness.LE,
            frozenset(names[name][0] for name in hard_wired),
        )
        # The option under which angr reads operations when a state has none.
        self.state = SimpleNamespace(arch=self._guest, options=frozenset({SUPPORT_FLOATING_POINT}))
        self._successors: list[Successor] = []
        mixed = architecture.byte_order != architecture.instruction_order
        self._elements = elements_for(architecture.instruction_set) if mixed else None
        self._added = encoded_for(architecture.instruction_set)
        self._alignment = alignment_for(architecture.instruction_set)
        self._beside_floats = dict(
            names[name] for name in undefined_beside_floats(architecture.instruction_set)
        )
        self._text = text_for(architecture.instruction_set)
        self._ignored = ignored_for(architecture.instruction_set)
        self._helpers = helpers_for(architecture.instruction_set)
        self._operations = {**OPERATIONS, **operations_for(architecture.instruction_set)}
        thunk = flags_for(architecture.instruction_set)
        helper = self._perform_vex_expr_CCall
        self._flags = (
            None if thunk is None else Flags(thunk, self.layout, helper, self._instruction)
        )
        self._instruction_size = 0
        self._instruction_pointer: Any = None

    @property
    def _machine(self) -> Machine:
        machine: Machine = self.state.machine
        return machine

    def lift(self, address: int, limit: int | None = None) -> Block:
        """The block at `address`; unoptimised, so that no write is merged away."""
        limit = limit or _MAX_INSTRUCTIONS
        data = self._available(address, limit * self._guest.max_inst_bytes)
        if not data:
            raise Unsupported(address, "execution leaves the code of the image")
        added = self._addition(data)
        if added is not None:
            return Block(address, (address,), added.encoded.size, added)
        irsb = pyvex.lift(data, address, self._guest, opt_level=0, max_inst=limit)
        # An instruction that VEX does not decode is marked, but none of the block's bytes.
        decoded = [a for a in irsb.instruction_addresses if a < address + irsb.size]
        known = next(
            (n for n, a in enumerate(decoded) if self._addition(data[a - address :])), None
        )
        if known is None and irsb.jumpkind != "Ijk_NoDecode":
            return Block(address, tuple(decoded), irsb.size, irsb)
        known = len(decoded) if known is None else known
        if not 0 < known < limit:
            raise Unsupported(address, "VEX does not decode this instruction")
        return self.lift(address, known)

    def _available(self, address: int, size: int) -> bytes:
        """The bytes at an address, fewer than `size` where the image ends."""
        while size > 0 and (data := self._code(address, size)) is None:
            size -= self._guest.instruction_alignment or 1
        return data or b"" if size > 0 else b""

    def _addition(self, data: bytes) -> _Added | None:
        """The meaning that we give to the instruction at the start of the data, if we do."""
        for one in self._added:
            word = self._word(data, one.size)
            if len(data) >= one.size and word & one.mask == one.value:
                return _Added(word, one)
        return None

    def _word(self, data: bytes, size: int = _WORD_BYTES) -> int:
        """The number that the bytes of an instruction of that size make."""
        return int.from_bytes(data[:size], "little" if self.layout.little else "big")

    def run(self, block: Block, machine: Machine) -> list[Successor]:
        """Execute a block, see Engine.run."""
        self.state.machine = machine
        self._successors = []
        if self._flags is not None:
            self._flags.discard()
        try:
            if isinstance(block.form, _Added):
                machine.begin(block.address)
                block.form.encoded.semantics.run(machine, self.layout, block.form.word)
                behind = claripy.BVV(block.address + block.size, self._guest.bits)
                return [Successor(machine, behind, "jump")]
            self.handle_vex_block(block.form)
        except Unsupported as error:
            raise Unsupported(machine.instruction, error.reason) from error
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise Unsupported(machine.instruction, reason) from error
        return self._successors

    def targets(self, block: Block) -> tuple[int, ...]:
        """The direct successors of a block, see Engine.targets."""
        irsb = block.form
        if isinstance(irsb, _Added):
            return (block.address + block.size,)
        found = [
            statement.dst.value
            for _, _, statement in irsb.exit_statements
            if statement.jumpkind in _FLOW
        ]
        if irsb.jumpkind == "Ijk_Call":
            found.append(block.address + block.size)
        elif irsb.direct_next and irsb.jumpkind in _FLOW:
            found.append(irsb.next.con.value)
        return tuple(found)

    def disassemble(self, address: int, size: int) -> list[tuple[int, str]]:
        """(address, text) of each instruction of a range."""
        data = self._available(address, size)
        found: list[tuple[int, str]] = []
        at = 0
        while at < len(data):
            for one in self._guest.capstone.disasm(data[at:], address + at):
                found.append((one.address, f"{one.mnemonic} {one.op_str}".strip()))
                at += one.size
            if at < len(data):
                known, size = self._addition(data[at:]), self._length(data[at:])
                code = data[at : at + size]
                text = self._text(code) if known is None else known.text
                numbers = ", ".join(f"{byte:#04x}" for byte in code)
                found.append((address + at, text or f".byte {numbers}"))
                at += size
        return found

    def _handle_vex_stmt_IMark(self, stmt: Any) -> None:
        self._settle_flags()
        self._machine.begin(stmt.addr)
        self._instruction_size = stmt.len
        self._instruction_pointer = claripy.BVV(stmt.addr, self._guest.bits)

    def _instruction(self, address: int) -> bytes:
        """The bytes of the instruction at hand, which is at this address."""
        return self._code(address, self._instruction_size) or b""

    def _settle_flags(self) -> None:
        if self._flags is not None:
            self._flags.settle(self._machine)

    def _perform_vex_expr_Get(self, offset: Any, ty: str, **kwargs: Any) -> Any:
        size = pyvex.get_type_size(ty) // 8
        where = offset.concrete_value
        if where == self._guest.ip_offset:
            return self._instruction_pointer
        if self._flags is not None and where in self._flags:
            return self._flags.get(self._machine, where)
        value = self._machine.get(offset.concrete_value, max(size, 1))
        return _typed(value, ty) if size else value[0:0]

    def _perform_vex_stmt_Put(self, offset: Any, data: Any, **kwargs: Any) -> None:
        where = offset.concrete_value
        if where == self._guest.ip_offset:
            self._instruction_pointer = data
            return
        if self._flags is not None and where in self._flags:
            self._flags.put(where, data)
            return
        value = data.raw_to_bv()
        if value.size() < 8:
            value = value.zero_extend(8 - value.size())
        self._machine.put(where, value)
        if isinstance(data, claripy.ast.FP):
            self._undefine_beside(where)

    def _perform_vex_expr_ITE(self, cond: Any, ifTrue: Any, ifFalse: Any) -> Any:  # noqa: N803
        """A choice between bits: angr 10.0.5 takes 0.0 and -0.0 for the same."""
        chosen = claripy.If(cond != 0, ifTrue.raw_to_bv(), ifFalse.raw_to_bv())
        return chosen.raw_to_fp() if isinstance(ifTrue, claripy.ast.FP) else chosen

    def _undefine_beside(self, offset: int) -> None:
        """What a write to the floating-point register there leaves undefined of the vector register
        of which it is the first half.

        It may still be, or depend on, what was there, for it must not pass for cleared.
        """
        half = self._beside_floats.get(offset, 0) // 2
        if half:
            value = self._machine.get(offset + half, half) ^ self._machine.undefined(half)
            self._machine.put(offset + half, value)

    def _perform_vex_expr_Load(self, addr: Any, ty: str, endness: str, **kwargs: Any) -> Any:
        size = pyvex.get_type_size(ty) // 8
        self._demand_alignment(addr, size)
        if self._elements is None:
            value = self._machine.load(addr, size, endness == "Iend_LE")
        else:
            value = self._exchanged(self._machine.load(addr, size, self._machine.little))
        return _typed(value, ty)

    def _perform_vex_stmt_Store(self, addr: Any, data: Any, endness: str, **kwargs: Any) -> None:
        value = data.raw_to_bv()
        self._demand_alignment(addr, value.size() // 8)
        if self._elements is None:
            self._machine.store(addr, value, endness == "Iend_LE")
        else:
            self._machine.store(addr, self._exchanged(value), self._machine.little)

    def _exchanged(self, value: Any) -> Any:
        """The elements of an access in the opposite order.

        VEX believes data to have the byte order of instructions. In the other one each element has
        its bytes in that order, but the first element still lies at the lowest address.
        """
        address, size = self._machine.instruction, value.size() // 8
        word = self._word(self._code(address, _WORD_BYTES) or b"")
        assert self._elements is not None
        element = self._elements(word, size)
        if element is None:
            raise Unsupported(address, f"{size} bytes in a byte order that is not known")
        return concat(lanes(value, 8 * element)[::-1])

    def _perform_vex_expr_Op(self, op: str, args: Any) -> Any:
        if _FLOATING.match(op):
            raise Unsupported(self._machine.instruction, f"floating-point operation {op}")
        if op.startswith(_SLOW):
            self._machine.slow(args)
        args = [self._machine.converter.unfolded(arg) for arg in args]
        ours = self._operations.get(op)
        if ours is not None:
            return ours(*args)
        try:
            return super()._perform_vex_expr_Op(op, args)
        except UnsupportedIROpError as error:
            raise Unsupported(self._machine.instruction, f"VEX operation {op}") from error

    def _perform_vex_expr_CCall(self, func_name: str, ty: str, args: Any, func: Any = None) -> Any:
        return super()._perform_vex_expr_CCall(
            func_name, ty, args, func or self._helpers.get(func_name)
        )

    def _demand_alignment(self, address: Any, size: int) -> None:
        """Fault where the instruction at hand needs an access to be aligned, and it is not."""
        if self._alignment is None:
            return
        demanded = self._alignment(self._instruction(self._machine.instruction), size)
        if demanded > 1:
            misaligned = claripy.If(
                address & (demanded - 1) != 0, claripy.BVV(1, 1), claripy.BVV(0, 1)
            )
            self._perform_vex_stmt_Exit(misaligned, self._instruction_pointer, _MISALIGNED)

    def _perform_vex_stmt_Exit(self, guard: Any, target: Any, jumpkind: str) -> None:
        taken = guard != 0
        known = only_true(taken)
        if known is False:
            return
        self._settle_flags()
        kind = _KINDS.get(jumpkind, jumpkind)
        if known is True:
            # Nothing behind a certain exit is executed.
            raise _Leave(Successor(self._machine, target, kind))
        branch = self._machine.copy()
        branch.assume(taken)
        self._successors.append(Successor(branch, target, kind))
        self._machine.assume(claripy.Not(taken))

    def _perform_vex_defaultexit(self, expr: Any, jumpkind: str) -> None:
        self._settle_flags()
        target = expr if self._ignored is None else expr & ~self._ignored
        self._successors.append(Successor(self._machine, target, _FLOW.get(jumpkind, jumpkind)))

    def handle_vex_block(self, irsb: Any) -> None:
        """Run the statements of one block up to a certain exit."""
        try:
            super().handle_vex_block(irsb)
        except _Leave as leave:
            self._successors.append(leave.successor)

    def _unsupported(self, *args: Any, **kwargs: Any) -> Any:
        raise Unsupported(self._machine.instruction, "VEX statement without a meaning here")

    _perform_vex_stmt_Dirty_call = _unsupported
    _perform_vex_stmt_LLSC = _unsupported
    _perform_vex_stmt_CAS = _unsupported
    _perform_vex_stmt_LoadG = _unsupported
    _perform_vex_stmt_StoreG = _unsupported
    _perform_vex_expr_GetI = _unsupported
    _perform_vex_stmt_PutI = _unsupported
    _handle_vex_expr_GSPTR = _unsupported
    _handle_vex_expr_VECRET = _unsupported
    _handle_vex_expr_Binder = _unsupported


def _typed(value: Any, ty: str) -> Any:
    """A value as angr has it of that type: a floating-point number where VEX says so, of which
    nothing is known but its bits."""
    return value.raw_to_fp() if ty.startswith("Ity_F") else value


@dataclass(frozen=True)
class _Added:
    """An instruction that VEX does not read, or not as the manual has it, and its meaning."""

    word: int
    encoded: Encoded

    @property
    def text(self) -> str:
        """The instruction as assembly."""
        return self.encoded.text(self.word)


class _Leave(Exception):
    """Control leaves the block for certain in the middle."""

    def __init__(self, successor: Successor) -> None:
        self.successor = successor
