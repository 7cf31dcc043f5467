"""The contract of the vDSO's getrandom, as data; what it computes is `specs.getrandom`.

Sources: the comments of Linux `lib/vdso/getrandom.c` and `include/vdso/getrandom.h`; the data page
is `struct vdso_rng_data` of `include/vdso/datapage.h`; getrandom(2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specs.contract import Region
from specs.getrandom_world import Answer, SystemCall
from specs.opaque_state import (
    BATCH_BYTES,
    GENERATION_OFFSET,
    IN_USE_OFFSET,
    KEY_BYTES,
    KEY_OFFSET,
    PADDING_OFFSET,
    PARAMETERS_BYTES,
    POS_OFFSET,
    STATE_BYTES,
)

ARGUMENTS = ("buffer", "len", "flags", "opaque_state", "opaque_len")
"""The C arguments in order; buffer and opaque_state are pointers."""

BUFFER = Region("buffer", None, readable=False, writable=True, secret=False)
"""min(len, most_bytes) bytes. They belong to the caller from the moment of return on; before that
they may be discarded and served anew."""

STATE_REGIONS: Mapping[int, Region] = {
    0: Region("batch", BATCH_BYTES, readable=True, writable=True, secret=True),
    KEY_OFFSET: Region("state key", KEY_BYTES, readable=True, writable=True, secret=True),
    GENERATION_OFFSET: Region("state generation", 8, readable=True, writable=True, secret=False),
    POS_OFFSET: Region("pos", 1, readable=True, writable=True, secret=False),
    IN_USE_OFFSET: Region("in_use", 1, readable=True, writable=True, secret=False),
    PADDING_OFFSET: Region(
        "padding", STATE_BYTES - PADDING_OFFSET, readable=False, writable=False, secret=False
    ),
}
"""By offset from opaque_state. Of the batch what has been given out is zero, and so no secret."""

PARAMETERS_REGION = Region(
    "parameters", PARAMETERS_BYTES, readable=False, writable=True, secret=False
)
"""What the query writes, at opaque_state."""

DATA_PAGE_REGIONS: Mapping[int, Region] = {
    0: Region("generation", 8, readable=True, writable=False, secret=False),
    8: Region("is_ready", 1, readable=True, writable=False, secret=False),
}
"""By offset from the generator's data, which the kernel shares with every process."""


@dataclass(frozen=True)
class Assumption:
    """What a caller or the kernel grants, by a name that verdicts can cite."""

    name: str
    text: str


CALLER = (
    Assumption(
        "state-mapped",
        f"opaque_state has {STATE_BYTES} bytes that can be read and written, for the query"
        f" {PARAMETERS_BYTES}; nothing is asked of it where the call ends before in_use is read",
    ),
    Assumption(
        "state-own",
        "the state was zero when it was new, only calls of this function have written it since, and"
        " no two threads use it at once; so pos is at most 96 and in_use 0 or 1",
    ),
    Assumption(
        "state-wiped",
        "the page of the state may be zeroed at any moment, as a whole; in a child of fork it is",
    ),
    Assumption(
        "wiped-or-interrupted",
        "while a call has the state, not both happen: its page is zeroed, and a signal handler"
        " calls with it",
    ),
    Assumption(
        "buffer-mapped",
        "the buffer can be written where the function itself writes it",
    ),
    Assumption(
        "regions-disjoint",
        "buffer, state, data page and stack do not overlap",
    ),
)

KERNEL = (
    Assumption(
        "generation-nonzero",
        "where is_ready was read as 1, each generation read afterwards is not 0",
    ),
    Assumption(
        "generation-in-one-word",
        "where pointers have 32 bits, one of the two words of the generation is 0 at all times, and"
        " it is always the same one; the kernel stores the other one at once, as an unsigned long",
    ),
    Assumption(
        "generation-new",
        "the generation changes with each reseed, and does not come back to a value that it had",
    ),
    Assumption(
        "key-fresh",
        "the 32 bytes of a system call that returns 32 are secret, and unrelated to any others",
    ),
    Assumption(
        "answer-bounded",
        "a system call returns at most len, and at most INT_MAX rounded down to pages, or an errno"
        " from -4095 to -1, and writes nothing but the first len bytes of its buffer",
    ),
)

STEERING = (
    *ARGUMENTS,
    "is_ready",
    "generation",
    "state generation",
    "pos",
    "in_use",
    "result of a system call",
)
"""All that branches and addresses may depend on. Everything else is secret until it is returned:
key and batch, what the kernel writes as a key, each block of the key stream and each intermediate
state of it, since any of these gives away bytes that are still to be given out."""

MAX_ERRNO = 4095
"""Linux `include/linux/err.h`: results from -4095 to -1 are errors."""


def keeps_promise(call: SystemCall[int], answer: Answer[int]) -> bool:
    """Is this an answer that the kernel may give?

    What it returns has been written; after an error or a short read there may be more.
    """
    if answer.result < 0:
        return answer.result >= -MAX_ERRNO and len(answer.written) <= call.len
    return answer.result <= len(answer.written) <= call.len
