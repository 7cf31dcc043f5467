"""`timing`: how long a call takes depends on nothing but what may steer.

Each branch condition, each address of a load or store, each operand of a multiplication or
division, each choice that is made without a branch, and each argument of a system call and of
ChaCha20 depends only on the arguments, pos, both generations, is_ready, in_use and results of
system calls: not on batch and key, not on what a call left in registers, not on what they held at
entry.
"""

from __future__ import annotations

from collections.abc import Iterator

from verify.getrandom.claims import Claim, Difference
from verify.getrandom.properties.model import Walk, described
from verify.getrandom.walk.events import Keystream, Refill, SystemCall
from verify.getrandom.walk.setting import FLAGS_BITS
from verify.terms import Term, extract


def found(walk: Walk) -> Iterator[Difference]:
    """Whatever is not shown to depend only on what may steer."""
    yield from walk.unfinished(Claim.TIMING)
    for at, what, value in dict.fromkeys(_decisive(walk)):
        variable = walk.unsteering(value)
        if variable is not None:
            yield walk.differs(Claim.TIMING, at, f"{what} depends on {described(variable)}")


def _decisive(walk: Walk) -> Iterator[tuple[int, str, Term]]:
    """(address, what, value) of all that time depends on."""
    for one in walk.steering:
        yield one.at, one.what, one.value
    for _, events in walk.paths():
        for event in events:
            match event:
                case SystemCall(at, number, buffer, length, flags):
                    # Of the flags, the kernel takes an unsigned int.
                    seen = extract(flags, FLAGS_BITS - 1, 0)
                    for value in (number, buffer, length, seen):
                        yield at, "an argument of the system call", value
                case Keystream(at, to, _, counter, size):
                    for value in (to.term(), counter, size):
                        yield at, "an argument of ChaCha20", value
                case Refill(at, _, counter):
                    yield at, "an argument of ChaCha20", counter
