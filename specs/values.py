"""What `specs.getrandom` needs of its values, and that on Python integers.

A value is a bit vector whose width is that of what it stands for: 8 bits for a byte, 32 for a word,
64 for a generation, those of size_t for a length. `IntValues` has Python integers for it,
`specs.z3values.Z3Values` has Z3 terms. Comparisons give a bool, since they steer: of terms, whoever
made the object decides which way, and so follows one path at a time.
"""

from collections.abc import Sequence
from typing import Protocol

from specs import chacha20
from specs.chacha20 import INTS, WORD_MASK


class Values[V](Protocol):
    """Operations on bit vectors. Operands of one operation have the same width."""

    def const(self, value: int, bits: int, /) -> V:
        """Return the value of the given width; a negative one stands for its two's complement."""

    def add(self, a: V, b: V, /) -> V:
        """Return a + b; the specification adds only where no carry is lost."""

    def sub(self, a: V, b: V, /) -> V:
        """Return a - b; the specification subtracts only where b <= a."""

    def masked(self, a: V, mask: int, /) -> V:
        """Return the bitwise and of a and a constant."""

    def shifted_right(self, a: V, amount: int, /) -> V:
        """Return a divided by 2^amount, rounded down, both without sign."""

    def resized(self, a: V, bits: int, /) -> V:
        """Return a cut or extended by zeros to the given width."""

    def minimum(self, a: V, b: V, /) -> V:
        """Return the smaller one, both without sign."""

    def equal(self, a: V, b: V, /) -> bool:
        """Decide whether a = b."""

    def less(self, a: V, b: V, /) -> bool:
        """Decide whether a < b, both without sign."""

    def join(self, octets: Sequence[V], /) -> V:
        """Return the word of 32 bits whose 4 bytes are given, the most significant one first."""

    def split(self, word: V, /) -> tuple[V, ...]:
        """Return the 4 bytes of a word of 32 bits, the least significant one first."""

    def erased(self, octets: Sequence[V], start: V, count: V, /) -> tuple[V, ...]:
        """Return the bytes with zeros in place of those from start to start + count - 1."""

    def block(self, key: Sequence[V], counter: V, /) -> tuple[V, ...]:
        """Return the 16 words of the ChaCha20 block with 8 key words and a 64-bit counter."""


class IntValues:
    """Values as Python integers; what can be a negative errno has its sign, all else none."""

    def const(self, value: int, bits: int, /) -> int:  # noqa: ARG002 (an integer has no width)
        return value

    def add(self, a: int, b: int, /) -> int:
        return a + b

    def sub(self, a: int, b: int, /) -> int:
        return a - b

    def masked(self, a: int, mask: int, /) -> int:
        return a & mask

    def shifted_right(self, a: int, amount: int, /) -> int:
        return a >> amount

    def resized(self, a: int, bits: int, /) -> int:
        return a & (1 << bits) - 1

    def minimum(self, a: int, b: int, /) -> int:
        return min(a, b)

    def equal(self, a: int, b: int, /) -> bool:
        return a == b

    def less(self, a: int, b: int, /) -> bool:
        return a < b

    def join(self, octets: Sequence[int], /) -> int:
        return int.from_bytes(octets, "big")

    def split(self, word: int, /) -> tuple[int, ...]:
        return tuple(word.to_bytes(4, "little"))

    def erased(self, octets: Sequence[int], start: int, count: int, /) -> tuple[int, ...]:
        return (*octets[:start], *bytes(count), *octets[start + count :])

    def block(self, key: Sequence[int], counter: int, /) -> tuple[int, ...]:
        return chacha20.block(INTS, key, counter & WORD_MASK, counter >> 32)


INT_VALUES: Values[int] = IntValues()
