"""The words of `specs.chacha20` as Z3 terms: bit vectors of 32 bits in Z3's main context."""

import z3

from specs.chacha20 import Words


class Z3Words:
    """32-bit words as Z3 bit-vector terms."""

    def const(self, value: int, /) -> z3.BitVecRef:
        return z3.BitVecVal(value, 32)

    def add(self, a: z3.BitVecRef, b: z3.BitVecRef, /) -> z3.BitVecRef:
        return a + b

    def xor(self, a: z3.BitVecRef, b: z3.BitVecRef, /) -> z3.BitVecRef:
        return a ^ b

    def rotl(self, a: z3.BitVecRef, amount: int, /) -> z3.BitVecRef:
        # z3.RotateLeft builds `ext_rotate_left`, which is not SMT-LIB; this is the indexed
        # `(_ rotate_left n)` of the theory FixedSizeBitVectors.
        return z3.BitVecRef(z3.Z3_mk_rotate_left(a.ctx_ref(), amount, a.as_ast()), a.ctx)


def z3_words() -> Words[z3.BitVecRef]:
    """Return the word operations that build Z3 terms printable as standard SMT-LIB."""
    return Z3Words()
