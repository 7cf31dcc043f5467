"""What is particular to x86-64 under VEX: its flags, and that SSE needs aligned operands.

VEX's `libvex_guest_amd64.h` describes the thunk; the flags lie as in RFLAGS (Intel 64 and IA-32
Architectures Software Developer's Manual, Volume 1, section 3.4.3), the conditions are numbered as
in the encodings (Volume 1, appendix B). A flag that the manual leaves undefined has the value that
VEX gives it. Conditions are read from single bits, so that one that is certain is seen to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from angr.engines.vex.claripy.ccall import amd64g_calculate_rflags_all

from verify.lift.flags import FlagThunk

_COPIED = 0
_WIDTH = 64
_BITS = {"c": 0, "p": 2, "z": 6, "s": 7, "o": 11}

FLAGS = FlagThunk(
    "cc_op", ("cc_dep1", "cc_dep2", "cc_ndep"), "amd64g_calculate_rflags_all", _COPIED
)

_CONDITIONS: tuple[Callable[[Mapping[str, Any]], Any], ...] = (
    lambda f: f["o"],
    lambda f: f["c"],
    lambda f: f["z"],
    lambda f: f["c"] | f["z"],
    lambda f: f["s"],
    lambda f: f["p"],
    lambda f: f["s"] ^ f["o"],
    lambda f: (f["s"] ^ f["o"]) | f["z"],
)
"""Each condition and its negation have two numbers: twice the index, and one more."""


def _flags(state: Any, operation: Any, *operands: Any) -> Mapping[str, Any]:
    """The flags as single bits."""
    settled = operation.op == "BVV" and operation.concrete_value == _COPIED
    flags = operands[0] if settled else amd64g_calculate_rflags_all(state, operation, *operands)
    return {name: flags[bit] for name, bit in _BITS.items()}


def _condition(state: Any, number: Any, operation: Any, *operands: Any) -> Any:
    """1 where condition `number` (a constant) holds, else 0, in 64 bits."""
    which, negated = divmod(number.concrete_value, 2)
    holds = _CONDITIONS[which](_flags(state, operation, *operands))
    return (holds ^ negated).zero_extend(_WIDTH - 1)


def _carry(state: Any, operation: Any, *operands: Any) -> Any:
    """The carry flag in 64 bits."""
    return _flags(state, operation, *operands)["c"].zero_extend(_WIDTH - 1)


_PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))
_VECTOR_BYTES = 16
_UNALIGNED = frozenset(((0x0F, 0x10), (0x0F, 0x11)))
"""movups and movupd."""
_UNALIGNED_WITH = {(0x0F, 0x6F): 0xF3, (0x0F, 0x7F): 0xF3, (0x0F, 0xF0): 0xF2}
"""movdqu and lddqu, which differ by a prefix from those that need alignment."""
_STRINGS = range(0x60, 0x64)
"""pcmpestrm, pcmpestri, pcmpistrm, pcmpistri, behind 0F 3A."""


def alignment(code: bytes, size: int) -> int:
    """The alignment in bytes that the instruction needs of an access to `size` bytes.

    Operands of 16 bytes of SSE need it (Volume 1, section 4.1.1, "Alignment of Words, Doublewords,
    Quadwords, and Double Quadwords"), those that are encoded with VEX do not.
    """
    if size != _VECTOR_BYTES:
        return 1
    prefixes = set()
    at = 0
    while code[at] in _PREFIXES:
        prefixes.add(code[at])
        at += 1
    at += code[at] & 0xF0 == 0x40
    opcode = (code[at], code[at + 1])
    if opcode[0] != 0x0F or opcode in _UNALIGNED or _UNALIGNED_WITH.get(opcode) in prefixes:
        return 1
    return 1 if opcode[1] == 0x3A and code[at + 2] in _STRINGS else _VECTOR_BYTES


HELPERS: Mapping[str, Callable[..., Any]] = {
    "amd64g_calculate_condition": _condition,
    "amd64g_calculate_rflags_c": _carry,
}
