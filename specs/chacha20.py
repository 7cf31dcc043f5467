"""ChaCha20 as RFC 8439 defines it, with the counter that the vDSO contract uses.

The algorithm is written once and is generic in its word type: run with `INTS` it computes on
Python integers, run with `specs.z3words.z3_words()` it builds Z3 bit-vector terms.

The vDSO contract keeps the state layout of the original ChaCha (D. J. Bernstein, "ChaCha, a
variant of Salsa20", 2008): the block counter has 64 bits, words 12 (low) and 13 (high), and the
nonce has 64 bits, words 14 and 15, which are zero here. RFC 8439 section 2.3 gives word 13 to the
nonce instead. For equal initial words both are the same function, so its vectors apply.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Protocol

WORD_MASK = 0xFFFF_FFFF
STATE_WORDS = 16
KEY_WORDS = 8
COUNTER_LOW, COUNTER_HIGH = 12, 13

# RFC 8439 section 2.3, state words 0 to 3.
CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)

# RFC 8439 section 2.3: 20 rounds, that is 10 double rounds.
ROUNDS = 20

# RFC 8439 section 2.1, in the order of the four steps of a quarter round.
ROTATIONS = (16, 12, 8, 7)

# RFC 8439 section 2.3: the four column rounds, then the four diagonal rounds.
QUARTER_ROUNDS = (
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
)


class Words[W](Protocol):
    """The operations on 32-bit words that ChaCha20 needs (RFC 8439 section 2.1)."""

    def const(self, value: int, /) -> W:
        """Return the word with the given value, 0 <= value < 2^32."""

    def add(self, a: W, b: W, /) -> W:
        """Return a + b modulo 2^32."""

    def xor(self, a: W, b: W, /) -> W:
        """Return the bitwise exclusive or of a and b."""

    def rotl(self, a: W, amount: int, /) -> W:
        """Return a rotated towards the high bits by the constant 0 < amount < 32."""


class IntWords:
    """32-bit words as Python integers from 0 to 2^32 - 1."""

    def const(self, value: int, /) -> int:
        return value

    def add(self, a: int, b: int, /) -> int:
        return (a + b) & WORD_MASK

    def xor(self, a: int, b: int, /) -> int:
        return a ^ b

    def rotl(self, a: int, amount: int, /) -> int:
        return (a << amount | a >> (32 - amount)) & WORD_MASK


INTS: Words[int] = IntWords()


def quarter_round[W](w: Words[W], a: W, b: W, c: W, d: W) -> tuple[W, W, W, W]:
    """Return the four words after one quarter round (RFC 8439 section 2.1)."""
    first, second, third, fourth = ROTATIONS
    a = w.add(a, b)
    d = w.rotl(w.xor(d, a), first)
    c = w.add(c, d)
    b = w.rotl(w.xor(b, c), second)
    a = w.add(a, b)
    d = w.rotl(w.xor(d, a), third)
    c = w.add(c, d)
    b = w.rotl(w.xor(b, c), fourth)
    return a, b, c, d


def quarter_round_at[W](
    w: Words[W], state: Sequence[W], indices: tuple[int, int, int, int]
) -> tuple[W, ...]:
    """Return the 16-word state after a quarter round on the given words (RFC 8439 section 2.2)."""
    updated = list(state)
    results = quarter_round(w, *(state[i] for i in indices))
    for index, word in zip(indices, results, strict=True):
        updated[index] = word
    return tuple(updated)


def quarter_round_states[W](
    w: Words[W], state: Sequence[W], rounds: int = ROUNDS
) -> Iterator[tuple[W, ...]]:
    """Yield the 16-word state after each quarter round of an even number of rounds."""
    current = tuple(state)
    for _ in range(rounds // 2):
        for indices in QUARTER_ROUNDS:
            current = quarter_round_at(w, current, indices)
            yield current


def double_round[W](w: Words[W], state: Sequence[W]) -> tuple[W, ...]:
    """Return the state after a column round and a diagonal round (RFC 8439 section 2.3.1)."""
    *_, last = quarter_round_states(w, state, 2)
    return last


def rounds[W](w: Words[W], state: Sequence[W]) -> tuple[W, ...]:
    """Return the state after all 20 rounds, before the feed-forward (RFC 8439 section 2.3)."""
    *_, last = quarter_round_states(w, state, ROUNDS)
    return last


def initial_state[W](
    w: Words[W], key: Sequence[W], counter_low: W, counter_high: W
) -> tuple[W, ...]:
    """Return the 16-word state that a block starts from (RFC 8439 section 2.3).

    Differs from the RFC as the module says: word 13 is the high half of a 64-bit counter, and
    words 14 and 15, the nonce, are zero.

    `key` is the key's 8 words. RFC 8439 reads them from the key bytes little-endian; the vDSO
    contract passes them as native words, so no byte order enters here.
    """
    if len(key) != KEY_WORDS:
        raise ValueError(f"a ChaCha20 key has {KEY_WORDS} words, not {len(key)}")
    constants = (w.const(value) for value in CONSTANTS)
    nonce = (w.const(0), w.const(0))
    return (*constants, *key, counter_low, counter_high, *nonce)


def feed_forward[W](w: Words[W], initial: Sequence[W], state: Sequence[W]) -> tuple[W, ...]:
    """Return the wordwise sums of the states before and after the rounds (RFC 8439 section 2.3)."""
    return tuple(w.add(after, before) for after, before in zip(state, initial, strict=True))


def block_from[W](w: Words[W], initial: Sequence[W]) -> tuple[W, ...]:
    """Return the 16 words of the block that any initial state gives (RFC 8439 section 2.3.1)."""
    return feed_forward(w, initial, rounds(w, initial))


def block[W](w: Words[W], key: Sequence[W], counter_low: W, counter_high: W) -> tuple[W, ...]:
    """Return the 16 words of one keystream block of the vDSO contract (RFC 8439 section 2.3)."""
    return block_from(w, initial_state(w, key, counter_low, counter_high))


def trace[W](
    w: Words[W], key: Sequence[W], counter_low: W, counter_high: W
) -> tuple[tuple[W, ...], ...]:
    """Return the 80 states of one block, one after each quarter round (RFC 8439 section 2.3)."""
    return tuple(quarter_round_states(w, initial_state(w, key, counter_low, counter_high)))


def serialize(words: Sequence[int]) -> bytes:
    """Return 16 words as 64 bytes, each word little-endian (RFC 8439 section 2.3)."""
    return struct.pack(f"<{STATE_WORDS}I", *words)


def stream(key: Sequence[int], counter: int, nblocks: int) -> bytes:
    """Return 64 * nblocks keystream bytes (RFC 8439 section 2.4), starting at a 64-bit counter.

    Differs from the RFC, whose 32-bit counter must not wrap: this one goes up by one per block
    modulo 2^64, carrying from word 12 into word 13 and never into the nonce.
    """
    blocks = []
    for number in range(nblocks):
        high, low = divmod((counter + number) % 2**64, 2**32)
        blocks.append(serialize(block(INTS, key, low, high)))
    return b"".join(blocks)
