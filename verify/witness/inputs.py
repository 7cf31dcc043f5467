"""Concrete inputs of the function under proof, and a pool of those at which code goes wrong."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from specs.contract import KEY_WORDS, REFILL_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.target import Target

WORD_BITS = 32
COUNTER_BITS = 64

MOST_BLOCKS = 4096
"""Inputs of more blocks are not executed: 256 KiB of output are enough for any witness."""

ZEROS = (0,) * KEY_WORDS
ONES = (2**WORD_BITS - 1,) * KEY_WORDS

COUNTERS = (
    *(0, 1),
    *(2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32),
    *(2**63 - 1, 2**64 - 2, 2**64 - 1),
)
"""Around the carries out of 31, 32, 63 and 64 bits."""

BLOCK_NUMBERS = (1, 2, 3, 5)


@dataclass(frozen=True)
class Inputs:
    """One call of the function. Every integer is unsigned.

    `key` is KEY_WORDS words of 32 bits, `counter` has 64 bits, `nblocks` is 1 to MOST_BLOCKS.
    `in_place` puts the key at dst + 96, as getrandom() does for its refill of two blocks. `seed`
    chooses everything else: where the regions lie, what surrounds them, and all other registers,
    except those whose value `registers` gives by their name in `verify.arch`.

    Raises ValueError for what is outside the contract.
    """

    key: tuple[int, ...]
    counter: int
    nblocks: int
    in_place: bool = False
    seed: int = 0
    registers: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse what the contract excludes."""
        if len(self.key) != KEY_WORDS or any(not 0 <= word < 2**WORD_BITS for word in self.key):
            raise ValueError(f"a key is {KEY_WORDS} words of {WORD_BITS} bits, not {self.key}")
        if not 0 <= self.counter < 2**COUNTER_BITS:
            raise ValueError(f"the counter has {COUNTER_BITS} bits, {self.counter:#x} has more")
        if not 1 <= self.nblocks <= MOST_BLOCKS:
            raise ValueError(f"{self.nblocks} blocks are not executed, only 1 to {MOST_BLOCKS}")
        if self.in_place and self.nblocks != REFILL_BLOCKS:
            raise ValueError(f"in place, {REFILL_BLOCKS} blocks are written, not {self.nblocks}")


def generator(seed: str) -> random.Random:
    """Reproducible random values: the same for the same seed."""
    return random.Random(seed)


def _random_key(values: random.Random) -> tuple[int, ...]:
    return tuple(values.getrandbits(WORD_BITS) for _ in range(KEY_WORDS))


def other_key(inputs: Inputs, number: int = 0) -> Inputs:
    """The same inputs with another, random key: what differs between the two depends on the key.

    `number` tells several other keys of the same inputs apart.
    """
    return replace(inputs, key=_random_key(generator(f"{inputs.key} {number}")))


def candidates(target: Target) -> tuple[Inputs, ...]:
    """A pool of about 60 inputs, the simplest first, the same ones for the same function."""
    values = generator(target.function_sha256)
    counters = (*COUNTERS, values.getrandbits(COUNTER_BITS))
    pool = [(key, 0, nblocks, False) for key in (ZEROS, ONES) for nblocks in (1, 2)]
    pool += [
        (_random_key(values), counter, nblocks, False)
        for nblocks in BLOCK_NUMBERS
        for counter in counters
    ]
    pool += [(key, counters[-1], 3, False) for key in (ZEROS, ONES)]
    pool += [(_random_key(values), counter, REFILL_BLOCKS, True) for counter in counters]
    return tuple(
        Inputs(key, counter, nblocks, in_place, seed)
        for seed, (key, counter, nblocks, in_place) in enumerate(pool)
    )
