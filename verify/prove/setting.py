"""The state at the function's entry, as the contract and the ABI give it.

Variables: one per argument (`dst`, `key`, `counter`: addresses; `nblocks`), `sp` and `ra` for the
stack pointer and the return address, `k0`..`k7` for the key words, `count` for the 64-bit counter
in memory, `init_<register>` for everything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from specs.contract import ARGUMENTS, BLOCK_BYTES, KEY_WORDS, REGIONS
from verify.arch import ON_STACK, Architecture
from verify.lift.cells import Cells, Initial
from verify.lift.convert import Converter
from verify.lift.engine import Engine, Layout
from verify.lift.machine import Machine
from verify.lift.memory import STACK, RegionMemory
from verify.target import Target
from verify.terms import (
    Term,
    binary,
    concat,
    const,
    equal,
    extract,
    negate,
    unsigned_less_equal,
    var,
    zero_extend,
)

COUNTER_BITS = 64


@dataclass(frozen=True)
class Variables:
    """The free variables of the theorem. Addresses and `nblocks` have the pointer's width."""

    pointer_bits: int
    key: tuple[Term, ...] = field(
        default_factory=lambda: tuple(var(f"k{n}", 32) for n in range(KEY_WORDS))
    )
    count: Term = field(default_factory=lambda: var("count", COUNTER_BITS))
    """The 64-bit counter at entry."""
    block_count: Term = field(default_factory=lambda: var("block_count", COUNTER_BITS))
    """The counter of the block at hand: count + index."""

    def address(self, name: str) -> Term:
        """The address in a pointer argument, or `sp` or `ra`."""
        return var(name, self.pointer_bits)

    @property
    def nblocks(self) -> Term:
        """The number of blocks asked for."""
        return var("nblocks", self.pointer_bits)

    @property
    def index(self) -> Term:
        """The number of blocks finished before the one at hand."""
        return var("index", self.pointer_bits)

    @property
    def counter_index(self) -> Term:
        """`index` as wide as the counter."""
        return zero_extend(self.index, COUNTER_BITS - self.pointer_bits)

    def contract(self, alignment: int) -> tuple[Term, ...]:
        """What a caller guarantees: 1 <= nblocks, dst fits into the address space, the return
        address is a multiple of `alignment` bytes."""
        one = const(1, self.pointer_bits)
        most = const((1 << self.pointer_bits) // BLOCK_BYTES - 1, self.pointer_bits)
        ra = self.address("ra")
        facts = [
            unsigned_less_equal(one, self.nblocks),
            unsigned_less_equal(self.nblocks, most),
        ]
        if alignment > 1:
            low = alignment.bit_length() - 2
            facts.append(equal(extract(ra, low, 0), const(0, low + 1)))
        return tuple(facts)


def low_word(counter: Term) -> Term:
    """The low 32 bits of a 64-bit counter (the first word in memory)."""
    return extract(counter, 31, 0)


def high_word(counter: Term) -> Term:
    """The high 32 bits of a 64-bit counter (the second word in memory)."""
    return extract(counter, 63, 32)


def unknown_registers(layout: Layout, converter: Converter) -> Initial:
    """What a register file holds of which nothing is known: `init_<register>`, or the bytes of it
    that are asked for."""

    def initial(offset: int, size: int) -> tuple[int, int, Any]:
        name, start, length = layout.enclosing(offset, size)
        low, high = offset, min(offset + size, start + length)
        first = low - start if layout.little else start + length - high
        value = var(f"init_{name}", 8 * length)
        return (
            low,
            high - low,
            converter.leaf(extract(value, 8 * (first + high - low) - 1, 8 * first)),
        )

    return initial


_COUNTER = frozenset({"pc"})
"""SLEIGH's name of the program counter. An indirect jump may write it like any other register."""
UNDESCRIBED = "uses a register that is not described"
"""Why nothing is shown of code that does."""


def described(architecture: Architecture, layout: Layout) -> frozenset[int]:
    """The bytes of the register file in which registers lie that `verify.arch` describes, the
    program counter, and what the lifter uses inside of one instruction."""
    storages = {register.storage for register in architecture.registers} | architecture.scratch
    places = (layout.registers[name] for name in storages | (_COUNTER & layout.registers.keys()))
    return frozenset(byte for offset, size in places for byte in range(offset, offset + size))


def undescribed(machine: Machine, known: frozenset[int]) -> int | None:
    """The address of an instruction that may use a register of which it is not known what callers,
    other functions and processors make of it: segments, rounding modes, those of the kernel. None
    where there is none; `known` are the bytes of the register file that are described."""
    for offset, size, _ in machine.registers:
        if not known.issuperset(range(offset, offset + size)):
            writes = (one for one in machine.register_writes if one.offset == offset)
            return next((one.instruction for one in writes), machine.instruction)
    return None


def entry_machine(target: Target, engine: Engine, variables: Variables) -> Machine:
    """The machine at the first instruction of the target."""
    architecture = target.architecture
    converter = Converter()
    layout = engine.layout
    little = architecture.byte_order == "little"

    bases = {variables.address(region.name): region.name for region in REGIONS}
    bases[variables.address("sp")] = STACK
    count = variables.count
    contents = {
        "key": tuple((4 * n, converter.leaf(word)) for n, word in enumerate(variables.key)),
        "counter": (
            (0, converter.leaf(low_word(count))),
            (4, converter.leaf(high_word(count))),
        ),
    }
    values = dict(zip(architecture.arguments, ARGUMENTS, strict=False))
    values[architecture.stack_pointer] = "sp"
    if architecture.return_address == ON_STACK:
        contents[STACK] = ((0, converter.leaf(variables.address("ra"))),)
    else:
        values[architecture.return_address] = "ra"
    machine = Machine(
        Cells(layout.little, unknown_registers(layout, converter)),
        RegionMemory(little, bases, target.code, contents),
        converter,
        little,
        target.function.address,
        layout.constants,
    )
    for register, name in values.items():
        offset, _ = layout.registers[architecture.register(register).storage]
        machine.registers.write(offset, converter.leaf(variables.address(name)))
    if target.function.toc is not None:
        offset, _ = layout.registers[architecture.register(architecture.toc).storage]
        base = const(target.function.toc, architecture.bits)
        machine.registers.write(offset, converter.leaf(base))
    return machine


def register_value(machine: Machine, engine: Engine, architecture: Architecture, name: str) -> Term:
    """The value of an architectural register, or of its part that the ABI names."""
    register = architecture.register(name)
    offset, size = engine.layout.registers[register.storage]
    value = machine.converter.term(machine.registers.read(offset, size))
    return extract(value, *register.bits) if register.bits else value


__all__ = [
    "COUNTER_BITS",
    "Variables",
    "binary",
    "concat",
    "entry_machine",
    "high_word",
    "low_word",
    "negate",
    "register_value",
    "unknown_registers",
]
