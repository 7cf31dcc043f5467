"""Where a signal's context has each register, in C, on Linux.

The names of the members are those of the `ucontext_t` of glibc and musl, which have them from the
kernel's `struct sigcontext` (`arch/*/include/uapi/asm/sigcontext.h` and `ptrace.h`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.qemu.machines.model import PROGRAM_COUNTER

if TYPE_CHECKING:
    from collections.abc import Iterable

_MACHINE = "uc->uc_mcontext"


@dataclass(frozen=True)
class Context:
    """How a C program on one architecture gets at the registers.

    `places` gives each register, by the name that `verify.qemu` has for it and with the program
    counter among them, as an expression of the type `unsigned long` that can be assigned to.
    `triple` is the name of the target for compilers.
    """

    triple: str
    places: Mapping[str, str]


def _array(member: str, names: Iterable[str], first: int = 0) -> dict[str, str]:
    return {name: f"{_MACHINE}.{member}[{n}]" for n, name in enumerate(names, first)}


def _wide(member: str, names: Iterable[str]) -> dict[str, str]:
    """Floating-point registers of 64 bits, read as integers."""
    return {name: f"*(unsigned long *)&{_MACHINE}.{member}[{n}]" for n, name in enumerate(names)}


_LOONGARCH = [
    *("zero", "ra", "tp", "sp"),
    *(f"a{n}" for n in range(8)),
    *(f"t{n}" for n in range(9)),
    *("r21", "fp"),
    *(f"s{n}" for n in range(9)),
]
_RISCV = [
    PROGRAM_COUNTER,
    *("ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{n}" for n in range(8)),
    *(f"s{n}" for n in range(2, 12)),
    *(f"t{n}" for n in range(3, 7)),
]
_RISCV_FLOATING = [
    *(f"ft{n}" for n in range(8)),
    *("fs0", "fs1"),
    *(f"fa{n}" for n in range(8)),
    *(f"fs{n}" for n in range(2, 12)),
    *(f"ft{n}" for n in range(8, 12)),
]
_X86 = {
    **{f"r{n}": f"REG_R{n}" for n in range(8, 16)},
    **{name: f"REG_{name.upper()}" for name in ("rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx")},
    "rsp": "REG_RSP",
    PROGRAM_COUNTER: "REG_RIP",
    "eflags": "REG_EFL",
}


def _powerpc64() -> dict[str, str]:
    return {
        **_array("gp_regs", (f"r{n}" for n in range(32))),
        **_array("gp_regs", (PROGRAM_COUNTER,), 32),
        **_array("gp_regs", ("ctr", "lr", "xer", "cr"), 35),
        **_wide("fp_regs", (f"f{n}" for n in range(32))),
    }


CONTEXTS: Mapping[str, Context] = {
    "arm64": Context(
        "aarch64-linux-musl",
        {
            **_array("regs", (f"x{n}" for n in range(31))),
            "sp": f"{_MACHINE}.sp",
            PROGRAM_COUNTER: f"{_MACHINE}.pc",
            "nzcv": f"{_MACHINE}.pstate",
        },
    ),
    "loongarch64": Context(
        "loongarch64-linux-musl",
        {**_array("__gregs", _LOONGARCH), PROGRAM_COUNTER: f"{_MACHINE}.__pc"},
    ),
    "powerpc64": Context("powerpc64-linux-musl", _powerpc64()),
    "powerpc64elfv2": Context("powerpc64-linux-musl", _powerpc64()),
    "powerpc64le": Context("powerpc64le-linux-musl", _powerpc64()),
    "riscv64": Context(
        "riscv64-linux-musl",
        {**_array("__gregs", _RISCV), **_wide("__fpregs.__d.__f", _RISCV_FLOATING)},
    ),
    "s390x": Context(
        "s390x-linux-musl",
        {**_array("gregs", (f"r{n}" for n in range(16))), PROGRAM_COUNTER: f"{_MACHINE}.psw.addr"},
    ),
    "x86_64": Context(
        "x86_64-linux-musl",
        {name: f"*(unsigned long *)&{_MACHINE}.gregs[{n}]" for name, n in _X86.items()},
    ),
}
"""By the name of the architecture."""
