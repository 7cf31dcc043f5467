"""The values of `specs.getrandom` as Z3 terms: bit vectors in Z3's main context."""

from collections.abc import Callable, Sequence

import z3

from specs import chacha20
from specs.z3words import z3_words

WORDS = z3_words()
ZERO = z3.BitVecVal(0, 8)


class Z3Values:
    """Values as Z3 bit-vector terms. Lengths and conditions are simplified, bytes are not.

    `decide` gets each comparison that does not simplify to true or false, and says which way to go
    on; it is for the caller to remember what was assumed, and whether the other way is possible.
    Override `block` to have ChaCha20 as something else than its term, for instance uninterpreted.
    """

    def __init__(self, decide: Callable[[z3.BoolRef], bool]) -> None:
        self._decide = decide

    def const(self, value: int, bits: int, /) -> z3.BitVecRef:
        return z3.BitVecVal(value, bits)

    def add(self, a: z3.BitVecRef, b: z3.BitVecRef, /) -> z3.BitVecRef:
        return z3.simplify(a + b)

    def sub(self, a: z3.BitVecRef, b: z3.BitVecRef, /) -> z3.BitVecRef:
        return z3.simplify(a - b)

    def masked(self, a: z3.BitVecRef, mask: int, /) -> z3.BitVecRef:
        return z3.simplify(a & z3.BitVecVal(mask, a.size()))

    def shifted_right(self, a: z3.BitVecRef, amount: int, /) -> z3.BitVecRef:
        return z3.simplify(z3.LShR(a, amount))

    def resized(self, a: z3.BitVecRef, bits: int, /) -> z3.BitVecRef:
        if bits <= a.size():
            return z3.simplify(z3.Extract(bits - 1, 0, a))
        return z3.simplify(z3.ZeroExt(bits - a.size(), a))

    def minimum(self, a: z3.BitVecRef, b: z3.BitVecRef, /) -> z3.BitVecRef:
        return z3.simplify(z3.If(z3.ULT(b, a), b, a))

    def equal(self, a: z3.BitVecRef, b: z3.BitVecRef, /) -> bool:
        return self._decided(a == b)

    def less(self, a: z3.BitVecRef, b: z3.BitVecRef, /) -> bool:
        return self._decided(z3.ULT(a, b))

    def join(self, octets: Sequence[z3.BitVecRef], /) -> z3.BitVecRef:
        return z3.Concat(*octets)

    def split(self, word: z3.BitVecRef, /) -> tuple[z3.BitVecRef, ...]:
        return tuple(z3.Extract(low + 7, low, word) for low in range(0, word.size(), 8))

    def erased(
        self, octets: Sequence[z3.BitVecRef], start: z3.BitVecRef, count: z3.BitVecRef, /
    ) -> tuple[z3.BitVecRef, ...]:
        return tuple(self._erased(octet, i, start, count) for i, octet in enumerate(octets))

    def _erased(
        self, octet: z3.BitVecRef, place: int, start: z3.BitVecRef, count: z3.BitVecRef
    ) -> z3.BitVecRef:
        # Without sign, a place in front of start is further behind it than any count.
        inside = z3.simplify(z3.ULT(z3.BitVecVal(place, start.size()) - start, count))
        if z3.is_true(inside):
            return ZERO
        return octet if z3.is_false(inside) else z3.If(inside, ZERO, octet)

    def block(
        self, key: Sequence[z3.BitVecRef], counter: z3.BitVecRef, /
    ) -> tuple[z3.BitVecRef, ...]:
        low, high = (z3.simplify(z3.Extract(bit + 31, bit, counter)) for bit in (0, 32))
        return chacha20.block(WORDS, key, low, high)

    def _decided(self, condition: z3.BoolRef) -> bool:
        condition = z3.simplify(condition)
        if z3.is_true(condition) or z3.is_false(condition):
            return bool(z3.is_true(condition))
        return self._decide(condition)
