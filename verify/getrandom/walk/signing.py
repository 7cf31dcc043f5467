"""Signed return addresses, which code keeps on its stack.

A signed address may be anything; only what was signed under the same stack pointer is given back.
Where signing is not switched on it leaves an address as it is, which is one of these anythings.
"""

from __future__ import annotations

from verify.getrandom.walk.setting import Setting, memory_of
from verify.lift.machine import Machine, Unsupported
from verify.terms import linear, variables


def sign(setting: Setting, machine: Machine, register: str) -> None:
    """What an instruction does that signs the address in a register."""
    origins = memory_of(machine).origins
    address = setting.read(machine, register)
    pointer = setting.read(machine, setting.architecture.stack_pointer)
    signed = origins.fresh("signed", setting.bits)
    origins.signed[signed] = address, pointer
    origins.stands_for(signed, variables([address, pointer]))
    setting.write(machine, register, signed)


def authenticate(setting: Setting, machine: Machine, register: str) -> None:
    """What an instruction does that gives back the address of which a register holds the signed
    one; raises Unsupported where it is not shown to be one that was signed."""
    known = memory_of(machine).origins.signed.get(setting.read(machine, register))
    pointer = setting.read(machine, setting.architecture.stack_pointer)
    if known is None or linear(known[1]) != linear(pointer):
        raise Unsupported(
            machine.instruction, "the address is not shown to be the one that was signed"
        )
    setting.write(machine, register, known[0])
