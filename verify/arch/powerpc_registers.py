"""What PowerPC's architectures have in common: their registers, as each lifter names them.

Uses of the registers: "Power Architecture 32-bit Application Binary Interface Supplement 1.0 -
Linux & Embedded", section 3.2.1, and "64-Bit ELF V2 ABI Specification: Power Architecture",
section 2.2.2 (f14 to f31, v20 to v31, VRSAVE and the condition fields CR2 to CR4 are preserved, of
the general registers r1 and r14 to r31); r2 and r13 are the TOC or the small data area, and the
thread pointer. f0 to f31 are the high halves of VSR 0 to 31, v0 to v31 are VSR 32 to 63.
"""

from __future__ import annotations

from collections.abc import Callable

from verify.arch.model import Lifter, Reading, Register, Saved

_GENERAL = {1: Saved.CALLEE, 2: Saved.RESERVED, 13: Saved.RESERVED}
_FIELDS = range(8)


def _from(first: int) -> Callable[[int], Saved]:
    """Registers with that number or a higher one are preserved."""
    return lambda number: Saved.CALLEE if number >= first else Saved.CALLER


def _general(storage: str) -> tuple[Register, ...]:
    others = _from(14)
    return tuple(
        Register(f"r{n}", storage.format(n), _GENERAL.get(n, others(n))) for n in range(32)
    )


def _vectors(storage: str) -> tuple[Register, ...]:
    floating, vector = _from(14), _from(20)
    return (
        *(Register(f"f{n}", storage.format(n), floating(n), (127, 64)) for n in range(32)),
        *(Register(f"vs{n}.low", storage.format(n), bits=(63, 0)) for n in range(32)),
        *(Register(f"v{n}", storage.format(n + 32), vector(n)) for n in range(32)),
    )


def _field_use(number: int) -> Saved:
    return Saved.CALLEE if number in (2, 3, 4) else Saved.CALLER


def vex(language: str) -> Reading:
    """VEX, which keeps a condition field's summary overflow bit (the lowest) by itself."""
    return Reading(
        Lifter("vex", language),
        (
            *_general("gpr{}"),
            Register("lr", "lr"),
            Register("ctr", "ctr"),
            *(Register(f"xer.{field}", f"xer_{field}") for field in ("so", "ov", "ca", "bc")),
            *(Register(f"cr{n}", f"cr{n}_321", _field_use(n), (3, 1)) for n in _FIELDS),
            *(Register(f"cr{n}.so", f"cr{n}_0", _field_use(n), (0, 0)) for n in _FIELDS),
            *_vectors("vsr{}"),
            Register("vscr", "vscr"),
            Register("vrsave", "vrsave", Saved.CALLEE),
        ),
    )


def pcode(language: str) -> Reading:
    """SLEIGH, which keeps a condition field in one byte, and VRSAVE as special-purpose register
    256; VSCR it does not know."""
    return Reading(
        Lifter("pcode", language),
        (
            *_general("r{}"),
            Register("lr", "LR"),
            Register("ctr", "CTR"),
            *(
                Register(f"xer.{field}", f"xer_{storage}")
                for field, storage in (("so", "so"), ("ov", "ov"), ("ca", "ca"), ("bc", "count"))
            ),
            *(Register(f"cr{n}", f"cr{n}", _field_use(n), (3, 1)) for n in _FIELDS),
            *(Register(f"cr{n}.so", f"cr{n}", _field_use(n), (0, 0)) for n in _FIELDS),
            *_vectors("vs{}"),
            Register("vrsave", "spr100", Saved.CALLEE, (31, 0)),
        ),
        # The address of lmw and stmw.
        frozenset({"tea"}),
    )
