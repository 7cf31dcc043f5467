"""The contract of the vDSO's ChaCha20, as data.

    void __arch_chacha20_blocks_nostack(u8 *dst, const u32 *key, u32 *counter, size_t nblocks)

Source: the prototype and its comment in Linux `include/vdso/getrandom.h`.
"""

from __future__ import annotations

from dataclasses import dataclass

BLOCK_BYTES = 64
"""Bytes of one block of output (RFC 8439, section 2.3)."""
KEY_WORDS = 8
"""The key is an array of this many 32-bit words in the machine's byte order."""


@dataclass(frozen=True)
class Region:
    """Memory that one pointer argument gives the function access to.

    `size` in bytes; None where the arguments decide: of dst it is BLOCK_BYTES times the number of
    blocks. `secret` says that the contents must not leak.
    """

    name: str
    size: int | None
    readable: bool
    writable: bool
    secret: bool


ARGUMENTS = ("dst", "key", "counter", "nblocks")
"""The C arguments in order; all but the last are pointers to the region of that name."""

REGIONS = (
    Region("dst", None, readable=False, writable=True, secret=True),
    Region("key", 4 * KEY_WORDS, readable=True, writable=False, secret=True),
    Region("counter", 8, readable=True, writable=True, secret=False),
)

REFILL_BLOCKS = 2
"""getrandom() refills its state with one call of this many blocks..."""
REFILL_KEY_OFFSET = 96
"""...whose key lies this many bytes behind the start of dst: there, and only there, regions
overlap (Linux `lib/vdso/getrandom.c`, `struct vgetrandom_state`)."""
