"""How results are told: a system call's to the code, and the code's to its caller.

Everywhere a result is a number of bytes or a negative errno, of the pointer's width. Where the
architecture has a flag for errors, it is the number or the positive errno, and the flag.
"""

from __future__ import annotations

from specs.getrandom import most_bytes
from specs.getrandom_contract import MAX_ERRNO
from specs.getrandom_world import Port
from verify.getrandom.reasoning.questions import Facts
from verify.getrandom.walk.setting import Setting
from verify.lift.machine import Machine
from verify.terms import (
    TRUE,
    Term,
    binary,
    conjunction,
    const,
    disjunction,
    equal,
    iff_else,
    subtract,
    unsigned_less_equal,
)


def port_of(setting: Setting) -> Port:
    """What the specification has to know of the machine."""
    order = setting.architecture.byte_order
    return Port(setting.bits, order, setting.layout.page_bytes)


def answered(setting: Setting, machine: Machine, result: Term, length: Term) -> Facts:
    """Put the result of a system call for `length` bytes where the code finds it; what the kernel
    promises of it, where the code depends on that."""
    how = setting.architecture.system_calls
    if not how.error:
        setting.write(machine, how.result, result)
        return ()
    failed, zero = _negative(result), const(0, result.width)
    setting.write(machine, how.result, iff_else(failed, subtract(zero, result), result))
    _, size = setting.engine.layout.registers[setting.architecture.register(how.error).storage]
    setting.write(machine, how.error, iff_else(failed, const(1, 8 * size), const(0, 8 * size)))
    most = const(most_bytes(port_of(setting)), result.width)
    given = conjunction((unsigned_less_equal(result, length), unsigned_less_equal(result, most)))
    errno = unsigned_less_equal(const(-MAX_ERRNO, result.width), result)
    return (disjunction((given, errno)),)


def returned(setting: Setting, machine: Machine) -> tuple[Term, Term]:
    """What the code returns, and whether that is told as an error or as none as it should be."""
    how = setting.architecture.system_calls
    value = setting.read(machine, how.result)
    if not how.error:
        return value, TRUE
    failed = equal(setting.read(machine, how.error), const(1, 1))
    result = iff_else(failed, subtract(const(0, value.width), value), value)
    return result, equal(failed, _negative(result))


def _negative(value: Term) -> Term:
    return binary("bvslt", value, const(0, value.width))
