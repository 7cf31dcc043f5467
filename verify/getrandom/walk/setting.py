"""The state at the entry of getrandom, and what its caller grants.

Variables: `buffer`, `len`, `opaque_state`, `opaque_len` with the pointer's width, `flags` with 32
bits, `sp` and `ra`, and `init_<register>` for everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from specs.getrandom_contract import ARGUMENTS
from specs.opaque_state import BATCH_BYTES
from verify.arch import ON_STACK, Architecture
from verify.arch.getrandom_port import GetrandomPort
from verify.arch.kerneldata import Layout
from verify.getrandom.reasoning.simplify import Simplifier
from verify.getrandom.walk.events import Event, Field, FieldRead
from verify.getrandom.walk.flow import flow_of
from verify.getrandom.walk.mapped import ImageConverter, base_of, mapped
from verify.getrandom.walk.memory import BUFFER, DATA, STATE, GetrandomMemory
from verify.getrandom.walk.origins import Origins
from verify.lift.cells import Cells
from verify.lift.engine import Engine
from verify.lift.machine import Machine
from verify.lift.memory import CODE, STACK
from verify.lift.select import engine_for
from verify.lift.semantics import flags_for
from verify.prove.cfg import ControlFlow
from verify.prove.setting import described, unknown_registers
from verify.target import Target
from verify.terms import (
    Linear,
    Term,
    concat,
    const,
    equal,
    extract,
    sign_extend,
    unsigned_less_equal,
    var,
    zero_extend,
)

FLAGS_BITS = 32


@dataclass(frozen=True)
class Setting:
    """What is executed: a target whose function is ChaCha20, read `base` bytes up, the entry of
    the getrandom that calls it, and its control flow. `calls` are the functions that are executed
    where they are called. `barriers` and `system_calls` are addresses of instructions, `pushes` and
    `checks` those of the shadow stack's, with the register, `signs` and `authenticates` those that
    sign an address in a register and give it back. `one_path` is whether one path goes on for both
    cases of a time namespace where that is possible."""

    target: Target
    engine: Engine
    entry: int
    flow: ControlFlow
    calls: frozenset[int]
    layout: Layout
    port: GetrandomPort
    barriers: frozenset[int]
    system_calls: frozenset[int]
    pushes: Mapping[int, str]
    checks: Mapping[int, str]
    signs: Mapping[int, str]
    authenticates: Mapping[int, str]
    base: int
    simplify: Simplifier
    one_path: bool

    @property
    def architecture(self) -> Architecture:
        """That of the target."""
        return self.target.architecture

    @cached_property
    def special(self) -> frozenset[int]:
        """The addresses of all instructions that the engine does not execute."""
        named = (self.pushes, self.checks, self.signs, self.authenticates)
        return self.barriers.union(self.system_calls, *named)

    @cached_property
    def conditions(self) -> frozenset[int]:
        """Where in the register file the flags lie, and registers of one byte: condition fields and
        carries."""
        registers = self.engine.layout.registers
        thunk = flags_for(self.architecture.instruction_set)
        flags = () if thunk is None else thunk.operands[:1]
        storages = {register.storage for register in self.architecture.registers}
        narrow = (storage for storage in storages if registers[storage][1] == 1)
        return frozenset(registers[name][0] for name in (*flags, *narrow))

    @cached_property
    def described(self) -> frozenset[int]:
        """The bytes of the register file in which registers lie that are described."""
        return described(self.architecture, self.engine.layout)

    @property
    def bits(self) -> int:
        """The width of a pointer."""
        return self.architecture.bits

    @property
    def data(self) -> Term:
        """The variable for where the generator's data are, inside a time namespace or not."""
        return var(DATA, self.bits)

    def argument(self, name: str) -> Term:
        """The variable of an argument, or of `sp` or `ra`."""
        return var(name, FLAGS_BITS if name == "flags" else self.bits)

    def constants(self, address: int, size: int) -> bytes | None:
        """Read-only bytes of the image, None where there are none or the kernel may change them."""
        if any(one.overlaps(address, size) for one in self.target.alternatives):
            return None
        return self.target.code(address, size)

    def read(self, machine: Machine, name: str) -> Term:
        """The value of an architectural register, or of the part that the ABI names."""
        register = self.architecture.register(name)
        offset, size = self.engine.layout.registers[register.storage]
        value = machine.converter.term(machine.registers.read(offset, size))
        return extract(value, *register.bits) if register.bits else value

    def write(self, machine: Machine, name: str, value: Term) -> None:
        """Put a value into the storage of an architectural register."""
        offset, _ = self.engine.layout.registers[self.architecture.register(name).storage]
        machine.registers.write(offset, machine.converter.leaf(value))


def setting_of(target: Target, entry: int, layout: Layout, port: GetrandomPort) -> Setting:
    """The setting of a target of an image, whose getrandom is at `entry`; raises Unsupported."""
    base = base_of(target)
    target = target.moved(base)
    engine = engine_for(target.architecture, target.code)
    flow = flow_of(target, engine, entry + base)
    code = {
        at: target.code(at, target.instruction_size(at)) or b""
        for block in flow.control.blocks.values()
        for at in block.instructions
    }
    order = target.architecture.instruction_order
    return Setting(
        target=target,
        engine=engine,
        entry=entry + base,
        flow=flow.control,
        calls=flow.calls,
        layout=layout,
        port=port,
        barriers=frozenset(
            at for at, data in code.items() if port.is_barrier(int.from_bytes(data, order))
        ),
        system_calls=frozenset(
            at for at, data in code.items() if data == target.architecture.system_calls.instruction
        ),
        pushes=_encoded(code, port.pushes, order),
        checks=_encoded(code, port.checks, order),
        signs=_encoded(code, port.signs, order),
        authenticates=_encoded(code, port.authenticates, order),
        base=base,
        one_path=layout.namespace is not None,
        simplify=Simplifier(frozenset({var(STATE, target.architecture.bits)})),
    )


def _encoded(
    code: Mapping[int, bytes],
    encodings: Iterable[tuple[int, str]],
    order: Literal["little", "big"],
) -> Mapping[int, str]:
    """By address, the register of each instruction that has one of the encodings."""
    registers = dict(encodings)
    found = ((at, registers.get(int.from_bytes(data, order))) for at, data in code.items())
    return {at: register for at, register in found if register is not None}


def memory_of(machine: Machine) -> GetrandomMemory:
    """The machine's memory, with its own type."""
    assert isinstance(machine.memory, GetrandomMemory)
    return machine.memory


def entry_machine(setting: Setting) -> Machine:
    """The machine at the first instruction."""
    architecture, layout = setting.architecture, setting.engine.layout
    converter = ImageConverter(setting.base, setting.bits)
    bases = {
        mapped(setting.bits): CODE,
        setting.data: DATA,
        setting.argument("buffer"): BUFFER,
        setting.argument("opaque_state"): STATE,
        setting.argument("sp"): STACK,
    }
    memory = GetrandomMemory(
        architecture.byte_order == "little", bases, setting.constants, converter, Origins()
    )
    machine = Machine(
        Cells(layout.little, unknown_registers(layout, converter)),
        memory,
        converter,
        architecture.byte_order == "little",
        setting.entry,
        layout.constants,
    )
    for register, name in zip(architecture.arguments, ARGUMENTS, strict=False):
        value = setting.argument(name)
        if name == "flags":
            value = _extended(setting, value)
        setting.write(machine, register, value)
    setting.write(machine, architecture.stack_pointer, setting.argument("sp"))
    for storage, value_at_entry in setting.port.at_entry:
        offset, size = layout.registers[storage]
        machine.registers.write(offset, converter.leaf(const(value_at_entry, 8 * size)))
    if architecture.return_address == ON_STACK:
        stack = memory.region(STACK, Linear(setting.bits, 0))
        stack.write(0, converter.leaf(setting.argument("ra")))
    else:
        setting.write(machine, architecture.return_address, setting.argument("ra"))
    return machine


def _extended(setting: Setting, flags: Term) -> Term:
    """An unsigned int as its caller passes it in a register."""
    more = setting.bits - FLAGS_BITS
    match setting.port.extends:
        case "sign":
            return sign_extend(flags, more)
        case "zero":
            return zero_extend(flags, more)
    return concat(var("above flags", more), flags)


def granted_of(event: Event) -> tuple[Term, ...]:
    """What is granted of what an event has read: in_use is 0 or 1."""
    if isinstance(event, FieldRead) and event.field is Field.IN_USE:
        return (unsigned_less_equal(event.value, const(1, event.value.width)),)
    return ()


def granted(setting: Setting, machine: Machine) -> tuple[Term, ...]:
    """What a caller grants: pos is at most 96; the return address is aligned, and so is what the
    image is mapped at."""
    pos = machine.converter.term(memory_of(machine).pos())
    pages = setting.layout.page_bytes.bit_length() - 1
    facts = [
        unsigned_less_equal(pos, const(BATCH_BYTES, 8)),
        equal(extract(mapped(setting.bits), pages - 1, 0), const(0, pages)),
    ]
    alignment = setting.architecture.return_alignment
    if alignment > 1:
        low = alignment.bit_length() - 1
        facts.append(equal(extract(setting.argument("ra"), low - 1, 0), const(0, low)))
    return tuple(facts)
