"""What a process keeps between two calls of the vDSO's getrandom, and how to allocate it.

Sources: the layouts are `struct vgetrandom_state` of Linux `include/vdso/getrandom.h` and
`struct vgetrandom_opaque_params` of `include/uapi/linux/random.h`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from specs.contract import REFILL_KEY_OFFSET
from specs.values import Values

type ByteOrder = Literal["little", "big"]

BATCH_BYTES = 96
"""One and a half ChaCha20 blocks, so that batch and key together are two."""
KEY_BYTES = 32
KEY_OFFSET = REFILL_KEY_OFFSET
GENERATION_OFFSET = 128
POS_OFFSET = 136
IN_USE_OFFSET = 137
PADDING_OFFSET = 138
STATE_BYTES = 144
STATE_ALIGNMENT = 8
"""That of generation, on every architecture; the function does not look at it."""
PARAMETERS_BYTES = 64

PROT_READ, PROT_WRITE = 1, 2
"""Linux `include/uapi/asm-generic/mman-common.h`."""
MAP_DROPPABLE, MAP_ANONYMOUS = 0x08, 0x20
"""Linux `include/uapi/linux/mman.h` and `include/uapi/asm-generic/mman-common.h`; the same numbers
on all architectures that have this function."""

PARAMETERS = (STATE_BYTES, PROT_READ | PROT_WRITE, MAP_DROPPABLE | MAP_ANONYMOUS, *[0] * 13)
"""The answer to the query, 16 words of 32 bits: size_of_opaque_state, mmap_prot, mmap_flags and 13
reserved ones."""


def parameter_bytes(byte_order: ByteOrder) -> bytes:
    """Return the 64 bytes that the query stores at its opaque_state argument."""
    return struct.pack(f"{'<' if byte_order == 'little' else '>'}16I", *PARAMETERS)


@dataclass(frozen=True, slots=True)
class State[V]:
    """The opaque state.

    `batch`: 96 bytes of which those from `pos` on have not been given out, and the others are zero.
    `key`: 32 bytes, the next key. `generation`: 64 bits, the generation of the kernel's generator
    that the key belongs to; 0 if none. `pos`: 8 bits. `in_use`: 8 bits, 0 or 1. `padding`: 6 bytes
    that are neither read nor written.
    """

    batch: tuple[V, ...]
    key: tuple[V, ...]
    generation: V
    pos: V
    in_use: V
    padding: tuple[V, ...]


def zeroed[V](values: Values[V]) -> State[V]:
    """Return the state in a page that is new, was dropped, or was wiped in a child."""
    zero = values.const(0, 8)
    return State(
        batch=(zero,) * BATCH_BYTES,
        key=(zero,) * KEY_BYTES,
        generation=values.const(0, 64),
        pos=zero,
        in_use=zero,
        padding=(zero,) * (STATE_BYTES - PADDING_OFFSET),
    )


def decode(memory: bytes, byte_order: ByteOrder) -> State[int]:
    """Return the state that 144 bytes of memory hold.

    Raises ValueError for any other number of bytes.
    """
    if len(memory) != STATE_BYTES:
        raise ValueError(f"the opaque state has {STATE_BYTES} bytes, not {len(memory)}")
    return State(
        batch=tuple(memory[:KEY_OFFSET]),
        key=tuple(memory[KEY_OFFSET:GENERATION_OFFSET]),
        generation=int.from_bytes(memory[GENERATION_OFFSET:POS_OFFSET], byte_order),
        pos=memory[POS_OFFSET],
        in_use=memory[IN_USE_OFFSET],
        padding=tuple(memory[PADDING_OFFSET:]),
    )


def encode(state: State[int], byte_order: ByteOrder) -> bytes:
    """Return the 144 bytes of memory that hold the state."""
    return b"".join(
        (
            bytes(state.batch),
            bytes(state.key),
            state.generation.to_bytes(8, byte_order),
            bytes((state.pos, state.in_use, *state.padding)),
        )
    )
