"""`termination`: every call returns, if system calls and ChaCha20 do.

Each path was executed to its return, or to the head of the retry loop for the second time, and
none that begins a second attempt comes there again. A loop that was closed by induction goes back
at most as often as there are bytes in the batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from specs.opaque_state import BATCH_BYTES
from verify.getrandom.claims import Claim, Difference
from verify.getrandom.properties.model import Walk
from verify.terms import const, unsigned_less


def found(walk: Walk) -> Iterator[Difference]:
    """Where it is not shown that execution ends."""
    yield from walk.unfinished(Claim.TERMINATION)
    for loop in walk.closed:
        counted = unsigned_less(loop.number, const(BATCH_BYTES, loop.number.width))
        if not walk.questions.follows(loop.facts, counted):
            reason = f"the loop is not shown to end after {BATCH_BYTES} iterations"
            yield walk.differs(Claim.TERMINATION, loop.head, reason)
