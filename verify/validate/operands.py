"""Other operands for an instruction form, those above all at which lifters go wrong."""

from __future__ import annotations

import random

from verify.validate.encodings import Form, Format


def vary(kind: Format, form: Form, rng: random.Random) -> int:
    """The word of a random instruction of the form.

    Its registers are often the same, so that destinations are also sources, and often number 0,
    which several architectures treat apart; its immediates are often 0, 1, the largest, or
    only a sign bit.
    """
    word = form.opcode
    pool = (0, rng.randrange(32), rng.randrange(32))
    for low, width in kind.registers:
        number = rng.choice((*pool[1:], *pool, rng.randrange(32)))
        word |= (number & (1 << width) - 1) << low
    for low, width in kind.immediates:
        ones = (1 << width) - 1
        number = rng.choice(
            (0, 1, ones, 1 << (width - 1), ones >> 1, *(rng.getrandbits(width) for _ in range(5)))
        )
        word |= (number & ones) << low
    return word
