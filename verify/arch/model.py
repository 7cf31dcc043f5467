"""What the harness has to know of an architecture and its C calling convention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

from verify.arch.getrandom_port import GetrandomPort
from verify.arch.patching import Patching
from verify.arch.system_calls import SystemCalls


class Saved(Enum):
    """What the ABI says about a register across a call."""

    CALLER = "caller-saved"
    """The function may leave anything in it."""
    CALLEE = "callee-saved"
    """At return it holds what it held at entry."""
    RESERVED = "reserved"
    """Never written, not even for a moment: a signal handler may look at it."""
    CONSTANT = "constant"
    """Hard-wired by the architecture."""


@dataclass(frozen=True)
class Register:
    """One architectural register, or the part of one that the ABI treats by itself.

    `storage` is the lifter's name for it, `bits` the (high, low) bits of that storage which it
    occupies; None means the whole.
    """

    name: str
    storage: str
    saved: Saved = Saved.CALLER
    bits: tuple[int, int] | None = None


ON_STACK = "stack"
"""The return address of an architecture whose call instruction pushes it."""


def word_length(_: bytes) -> int:
    """The length in bytes of an instruction where all have 32 bits."""
    return 4


def any_flags(_: int) -> bool:
    """Whatever `e_flags` says: one ABI for all files of a machine, width and byte order."""
    return True


@dataclass(frozen=True)
class Lifter:
    """Which of angr's lifters reads the code, and by what name it knows the architecture.

    `pcode`: a SLEIGH language id. `vex`: the name of an archinfo class.
    """

    engine: Literal["vex", "pcode"]
    language: str


@dataclass(frozen=True)
class Reading:
    """A lifter, and the registers with their places in its storage.

    `scratch` are the lifter's names of what it uses inside of one instruction only.
    """

    lifter: Lifter
    registers: tuple[Register, ...]
    scratch: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Architecture:
    """One architecture with one ABI and one byte order.

    `bits` is the width of a pointer and of size_t. `arguments` are the registers of the first
    integer arguments. `return_address` is the register that holds it at entry, or ON_STACK where
    it lies at the stack pointer and the return takes it away; `return_alignment` is the alignment
    in bytes that it has.

    `red_zone` is the number of bytes below the stack pointer that the ABI lets a function use
    without moving it; `stack_alignment` the alignment in bytes, at entry, of the stack pointer plus
    `popped_at_return`; `linkage_area` are the (offset, size) from the entry stack pointer of the
    slots in the caller's frame that belong to the callee.

    `instruction_bytes` is the length of the longest instruction, `instruction_alignment` what the
    address of every instruction is a multiple of; `instruction_length` is the length in bytes of
    the instruction that the given bytes begin with, `illegal_instruction` a shortest one that
    traps. `debian` is the Debian architecture whose kernels contain this code, empty where there
    is none. `patching` says how Linux patches the code when it boots, None where that is not known.

    `instruction_set` is the name under which the semantics and encodings of its instructions are
    kept, which architectures of other byte orders and ABIs share; by default its own name.
    `code_order` is the byte order of instructions, None where it is that of data.
    `has_flags` tells from `e_flags` whether a file of this machine has this ABI. `other_reading` is
    that of a second, independent lifter, None where there is none. `toc` is the register that holds
    the base of the table of contents at entry, where a function has one; `scratch` is as in
    Reading. `system_calls` says how Linux is called, `getrandom_port` what a getrandom
    depends on besides; None where that is not known.
    """

    name: str
    title: str
    machine: str
    bits: int
    byte_order: Literal["little", "big"]
    lifter: Lifter
    registers: tuple[Register, ...]
    arguments: tuple[str, ...]
    stack_pointer: str
    return_address: str
    red_zone: int
    stack_alignment: int
    linkage_area: tuple[tuple[int, int], ...]
    return_alignment: int
    instruction_bytes: int
    instruction_alignment: int
    instruction_length: Callable[[bytes], int]
    illegal_instruction: bytes
    debian: str
    qemu: str
    abi: str
    system_calls: SystemCalls
    patching: Patching | None = None
    instruction_set: str = ""
    code_order: Literal["little", "big"] | None = None
    has_flags: Callable[[int], bool] = any_flags
    other_reading: Reading | None = None
    toc: str = ""
    scratch: frozenset[str] = frozenset()
    getrandom_port: GetrandomPort | None = None

    def __post_init__(self) -> None:
        """Name the instruction set after the architecture where it has no other name."""
        if not self.instruction_set:
            object.__setattr__(self, "instruction_set", self.name)

    @property
    def instruction_order(self) -> Literal["little", "big"]:
        """The byte order of instructions."""
        return self.code_order or self.byte_order

    @property
    def popped_at_return(self) -> int:
        """How many bytes the stack pointer is above its entry value when the function returns."""
        return self.bits // 8 if self.return_address == ON_STACK else 0

    def read_by_other(self) -> Architecture | None:
        """The same architecture with the other lifter; None where there is none."""
        other = self.other_reading
        if other is None:
            return None
        first = Reading(self.lifter, self.registers, self.scratch)
        return replace(
            self,
            lifter=other.lifter,
            registers=other.registers,
            scratch=other.scratch,
            other_reading=first,
        )

    def register(self, name: str) -> Register:
        """The register of that name; raises KeyError."""
        for register in self.registers:
            if register.name == name:
                return register
        raise KeyError(name)

    def with_saved(self, saved: Saved) -> tuple[Register, ...]:
        """The registers that the ABI treats in that way."""
        return tuple(register for register in self.registers if register.saved is saved)
