"""x86-64: "Intel 64 and IA-32 Architectures Software Developer's Manual", Volume 2, appendix A.

What an instruction does is in prefixes, opcode and ModRM, wherever those are; so the related ones
are computed.
"""

from __future__ import annotations

from collections.abc import Iterator

from verify.lift.semantics.x86_64_code import ESCAPE, Opening, opening
from verify.mutate.model import Operator
from verify.mutate.siblings.model import Related, Siblings

_LONGEST = 15
_NOP = 0x90
_WIDE = 8
"""The bit of REX with which operands have 64 bits."""

_ARITHMETIC = range(0x40)
_ARITHMETIC_GROUPS = (0x81, 0x83)
_SHIFT_GROUPS = (0xC1, 0xD1, 0xD3)
_SHIFTS = (0, 1, 4, 5, 7)
"""rol, ror, shl, shr, sar"""
_MOVES = range(0x88, 0x8C)
_SHORT_BRANCHES, _NEAR_BRANCHES = range(0x70, 0x80), range(0x80, 0x90)
_WITH_WIDE = frozenset((*_ARITHMETIC, *_ARITHMETIC_GROUPS, *_SHIFT_GROUPS, 0x89, 0x8B))
"""Opcodes of one byte that have operands of 64 bits by REX."""
_MOVE_DOUBLEWORD = (0x6E, 0x7E)

# Behind 0F, with the prefix in front.
_VECTOR_WIDTHS: tuple[tuple[tuple[int, int], ...], ...] = (
    # movdqu and movq from memory, movdqa; movdqu and movq to memory, movdqa
    ((0xF3, 0x6F), (0xF3, 0x7E), (0x66, 0x6F)),
    ((0xF3, 0x7F), (0x66, 0xD6), (0x66, 0x7F)),
)
_VECTOR_OPERATIONS: tuple[tuple[tuple[int, int], ...], ...] = (
    # paddw, paddd, paddq, psubw, psubd, psubq
    ((0x66, 0xFD), (0x66, 0xFE), (0x66, 0xD4), (0x66, 0xF9), (0x66, 0xFA), (0x66, 0xFB)),
    # pand, pandn, por, pxor
    ((0x66, 0xDB), (0x66, 0xDF), (0x66, 0xEB), (0x66, 0xEF)),
    # pshufd, pshuflw, pshufhw
    ((0x66, 0x70), (0xF2, 0x70), (0xF3, 0x70)),
)
_VECTOR_SHIFTS = (0x71, 0x72, 0x73)
"""psrl, psra, psll of words, doublewords and quadwords, by the extension."""
_VECTOR_SHIFT_OPERATIONS = (2, 4, 6)


def _others(code: bytes) -> Related:
    start = opening(code)
    at = start.size - 1
    match start.opcode:
        case (opcode,):
            yield from _of_one_byte(code, start, opcode)
        case (first, opcode) if first == ESCAPE:
            if opcode in _NEAR_BRANCHES:
                yield Operator.BRANCH, _with(code, at, opcode ^ 1)
            elif opcode in _VECTOR_SHIFTS:
                for other in _VECTOR_SHIFT_OPERATIONS:
                    yield Operator.SIBLING, _extended(code, start, other)
            elif opcode in _MOVE_DOUBLEWORD and start.rex and 0x66 in start.prefixes:
                yield Operator.WIDTH, _other_width(code, start)
            yield from _vectors(code, start, opcode)


def _of_one_byte(code: bytes, start: Opening, opcode: int) -> Related:
    at = start.size - 1
    if opcode in _ARITHMETIC and opcode & 7 < 6:
        for operation in range(8):
            yield Operator.SIBLING, _with(code, at, operation << 3 | opcode & 7)
    elif opcode in _ARITHMETIC_GROUPS:
        for operation in range(8):
            yield Operator.SIBLING, _extended(code, start, operation)
    elif opcode in _SHIFT_GROUPS and start.extension in _SHIFTS:
        for operation in _SHIFTS:
            yield Operator.SIBLING, _extended(code, start, operation)
    elif opcode in _SHORT_BRANCHES:
        yield Operator.BRANCH, _with(code, at, opcode ^ 1)
    elif opcode in _MOVES:
        yield Operator.WIDTH, _with(code, at, opcode ^ 1)
    if start.rex and opcode in _WITH_WIDE:
        yield Operator.WIDTH, _other_width(code, start)


def _vectors(code: bytes, start: Opening, opcode: int) -> Related:
    """The prefix that chooses the operation is the first byte."""
    mine = (code[0], opcode)
    if len(start.prefixes) == 1:
        for operator, other in _alternatives(mine):
            changed = bytes((other[0],)) + code[1:]
            yield operator, _with(changed, start.size - 1, other[1])


def _alternatives(mine: tuple[int, int]) -> Iterator[tuple[Operator, tuple[int, int]]]:
    tables = {Operator.WIDTH: _VECTOR_WIDTHS, Operator.SIBLING: _VECTOR_OPERATIONS}
    for operator, groups in tables.items():
        for group in groups:
            if mine in group:
                yield from ((operator, other) for other in group)


def _with(code: bytes, at: int, byte: int) -> bytes:
    return code[:at] + bytes((byte,)) + code[at + 1 :]


def _extended(code: bytes, start: Opening, extension: int) -> bytes:
    """The instruction with another extension of the opcode in ModRM."""
    return _with(code, start.size, start.behind & ~0x38 | extension << 3)


def _other_width(code: bytes, start: Opening) -> bytes:
    """The instruction with operands of 32 bits for 64, or the other way round."""
    return _with(code, start.size - len(start.opcode) - 1, start.rex ^ _WIDE)


SIBLINGS = Siblings(
    nops={size: int.from_bytes(bytes((_NOP,)) * size, "big") for size in range(1, _LONGEST + 1)},
    others=_others,
)
