"""LSX: rearranging lanes, moving them from and to general registers, and constants.

Source: see `lsx_vectors`. Of the number of a lane only as many bits count as there are lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from angr import claripy

from verify.lift.engine import Layout
from verify.lift.machine import Machine, Unsupported
from verify.lift.semantics import Meaning
from verify.lift.semantics.loongarch64_scalar import read_register, register_offset
from verify.lift.semantics.lsx_vectors import (
    VECTOR_BITS,
    VECTOR_BYTES,
    WIDTHS,
    Lanes,
    chosen,
    field,
    join,
    lanes_of,
    number_bits,
    rearranged,
    signed_field,
    sources,
    vector_offset,
)

_OUT_OF_RANGE = 0xC0
"""Bits of a lane's number with which vshuf gives zero on some processors (Loongson 3C5000), and on
others (3A6000, and QEMU) is as without them."""


def _interleave(first: Lanes, second: Lanes) -> Lanes:
    return [lane for pair in zip(first, second, strict=True) for lane in pair]


_MIXES: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "vpackev": lambda j, k: _interleave(k[::2], j[::2]),
    "vpackod": lambda j, k: _interleave(k[1::2], j[1::2]),
    "vpickev": lambda j, k: k[::2] + j[::2],
    "vpickod": lambda j, k: k[1::2] + j[1::2],
    "vilvl": lambda j, k: _interleave(k[: len(k) // 2], j[: len(j) // 2]),
    "vilvh": lambda j, k: _interleave(k[len(k) // 2 :], j[len(j) // 2 :]),
}


def _number(lanes: Lanes, number: Any) -> Any:
    """The lane of a number, of which only the lowest bits count."""
    bits = (len(lanes) - 1).bit_length()
    found = lanes[0]
    for place, lane in enumerate(lanes[1:], 1):
        found = claripy.If(number[bits - 1 : 0] == place, lane, found)
    return found


def _shuffled(machine: Machine, numbers: Lanes, source: Lanes) -> Any:
    """The lanes of these numbers, undefined where processors differ."""
    found = []
    for number in numbers:
        known = machine.converter.term(number).value
        if known is not None and not known & _OUT_OF_RANGE:
            found.append(source[known % len(source)])
            continue
        lane = _number(source, number)
        undefined = lane ^ machine.undefined(lane.size() // 8)
        found.append(claripy.If(number & _OUT_OF_RANGE == 0, lane, undefined))
    return join(found)


def _shuffle_bytes(machine: Machine, layout: Layout, word: int) -> None:
    """vd = the bytes of vk and, from 16 on, vj that va numbers."""
    high, low, numbers = (lanes_of(v, 8) for v in sources(machine, layout, word, 5, 10, 15))
    machine.put(vector_offset(layout, word & 31), _shuffled(machine, numbers, low + high))


def _shuffle(width: int) -> Meaning:
    """vd = the lanes of vk and, behind them, vj that vd numbered."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        numbers, high, low = (lanes_of(v, width) for v in sources(machine, layout, word, 0, 5, 10))
        machine.put(vector_offset(layout, word & 31), _shuffled(machine, numbers, low + high))

    return run


def _pairs_of_bits(value: int) -> list[int]:
    return [value >> place & 3 for place in (0, 2, 4, 6)]


def _shuffle_fours(_: Lanes, source: Lanes, value: int) -> Lanes:
    """Of each four lanes those that the pairs of bits number."""
    return [
        source[first + number]
        for first in range(0, len(source), 4)
        for number in _pairs_of_bits(value)
    ]


def _shuffle_doublewords(old: Lanes, source: Lanes, value: int) -> Lanes:
    """Those of vd's two and vj's two that the lower two pairs of bits number."""
    return [(old + source)[number] for number in _pairs_of_bits(value)[:2]]


def _permute_words(old: Lanes, source: Lanes, value: int) -> Lanes:
    """The lower two from vj, the upper two from vd."""
    first, second, third, fourth = _pairs_of_bits(value)
    return [source[first], source[second], old[third], old[fourth]]


def _extract_insert(old: Lanes, source: Lanes, value: int) -> Lanes:
    """The lane of vd that the upper four bits number replaced by that of vj that the lower do."""
    last = len(old) - 1
    lanes = list(old)
    lanes[value >> 4 & last] = source[value & last]
    return lanes


def _replicate(_: Lanes, source: Lanes, number: int) -> Lanes:
    return [source[number]] * len(source)


def _move_bytes(_: Lanes, source: Lanes, count: int, *, left: bool) -> Lanes:
    """All bytes moved up or down by the count modulo 16, zeros behind them."""
    count &= VECTOR_BYTES - 1
    zeros = [claripy.BVV(0, 8)] * count
    return zeros + source[: VECTOR_BYTES - count] if left else source[count:] + zeros


def _replicate_general(width: int) -> Meaning:
    """Every lane of vd = the low bits of the general register rj."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        lane = read_register(machine, layout, word >> 5 & 31)[width - 1 : 0]
        machine.put(vector_offset(layout, word & 31), join([lane] * (VECTOR_BITS // width)))

    return run


def _replicate_numbered(width: int) -> Meaning:
    """Every lane of vd = the lane of vj that the general register rk numbers."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        (source,) = sources(machine, layout, word, 5)
        number = read_register(machine, layout, word >> 10 & 31)
        lane = _number(lanes_of(source, width), number)
        machine.put(vector_offset(layout, word & 31), join([lane] * (VECTOR_BITS // width)))

    return run


def _insert_general(width: int) -> Meaning:
    """One lane of vd = the low bits of the general register rj."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        (old,) = sources(machine, layout, word, 0)
        lanes = lanes_of(old, width)
        number = field(word, 10, number_bits(width))
        lanes[number] = read_register(machine, layout, word >> 5 & 31)[width - 1 : 0]
        machine.put(vector_offset(layout, word & 31), join(lanes))

    return run


def _pick_general(width: int, *, signed: bool) -> Meaning:
    """The general register rd = one lane of vj, extended."""

    def run(machine: Machine, layout: Layout, word: int) -> None:
        (source,) = sources(machine, layout, word, 5)
        lane = lanes_of(source, width)[field(word, 10, number_bits(width))]
        value = lane.sign_extend(64 - width) if signed else lane.zero_extend(64 - width)
        machine.put(register_offset(layout, word & 31), value)

    return run


def _constant(word: int) -> tuple[int, int]:
    """Width of the lanes in bits, and the value of each, of vldi: the field of 13 bits at bit 5.

    Raises Unsupported for the modes that the manual reserves.
    """
    if not word >> 17 & 1:
        width = (8, 16, 32, 64)[word >> 15 & 3]
        return width, signed_field(word, 5, 10) & (1 << width) - 1
    mode, value = field(word, 13, 4), field(word, 5, 8)
    if mode < 4:
        return 32, value << 8 * mode
    if mode < 6:
        return 16, value << 8 * (mode - 4)
    if mode < 8:
        return 32, value << 8 * (mode - 5) | (1 << 8 * (mode - 5)) - 1
    if mode == 8:
        return 8, value
    if mode == 9:
        return 64, sum(0xFF << 8 * n for n in range(8) if value >> n & 1)
    sign, exponent, rest = value >> 7, value >> 6 & 1, value & 0x3F
    if mode in (10, 11):
        single = sign << 31 | (0x1F if exponent else 0x20) << 25 | rest << 19
        return (32, 64)[mode - 10], single
    if mode == 12:
        return 64, sign << 63 | (0xFF if exponent else 0x100) << 54 | rest << 48
    raise Unsupported(0, f"vldi in the reserved mode {mode}")


def _load_constant(machine: Machine, layout: Layout, word: int) -> None:
    width, value = _constant(word)
    whole = sum(value << low for low in range(0, VECTOR_BITS, width))
    machine.put(vector_offset(layout, word & 31), claripy.BVV(whole, VECTOR_BITS))


def _of_a_width(letter: str, width: int) -> Iterator[tuple[str, Meaning]]:
    """The instructions that exist for lanes of each width."""
    for name, mix in _MIXES.items():
        yield f"{name}.{letter}", rearranged(width, mix)
    yield f"vextrins.{letter}", chosen(width, 8, _extract_insert)
    yield f"vreplvei.{letter}", chosen(width, number_bits(width), _replicate)
    yield f"vreplve.{letter}", _replicate_numbered(width)
    yield f"vreplgr2vr.{letter}", _replicate_general(width)
    yield f"vinsgr2vr.{letter}", _insert_general(width)
    yield f"vpickve2gr.{letter}", _pick_general(width, signed=True)
    yield f"vpickve2gr.{letter}u", _pick_general(width, signed=False)


MEANINGS: dict[str, Meaning] = {
    **{
        name: meaning
        for letter, width in WIDTHS.items()
        for name, meaning in _of_a_width(letter, width)
    },
    "vshuf.b": _shuffle_bytes,
    **{f"vshuf.{letter}": _shuffle(WIDTHS[letter]) for letter in "hwd"},
    **{f"vshuf4i.{letter}": chosen(WIDTHS[letter], 8, _shuffle_fours) for letter in "bhw"},
    "vshuf4i.d": chosen(64, 8, _shuffle_doublewords),
    "vpermi.w": chosen(32, 8, _permute_words),
    "vbsll.v": chosen(8, 5, partial(_move_bytes, left=True)),
    "vbsrl.v": chosen(8, 5, partial(_move_bytes, left=False)),
    "vldi": _load_constant,
}
