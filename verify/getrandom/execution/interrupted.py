"""What no call may do though its state is zeroed, or a signal handler calls, at any instruction.

Code may be interrupted within what is one access of the specification, so what it should have done
is not known exactly. What is looked for is harm that no order of accesses excuses: bytes that
somebody knows or has already. Of bytes that are random, `WINDOW` in a row are the same by chance
once in 2 ** 128; those in a batch of `verify.history.catalogue` are all different.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from specs import chacha20
from specs.opaque_state import BATCH_BYTES, decode
from verify.getrandom.claims import Claim
from verify.getrandom.execution.blame import Blamed
from verify.history.model import Harm

if TYPE_CHECKING:
    from verify.history import Done, Program, Step

WINDOW = 16
_BLOCKS = 64


def harm(program: Program, step: Step, done: Done) -> Blamed:
    """The properties that an interrupted call has broken: `fork` if its state was zeroed, `reentry`
    if a handler called, `abi` if there a reserved register was not as it had been."""
    if not done.interrupted or done.result is None:
        return {}
    found = _given(program, step, done)
    for one in done.breaches:
        if one.harm is Harm.REGISTER:
            found.setdefault(Claim.ABI.value, one.text)
    return found


def _given(program: Program, step: Step, done: Done) -> Blamed:
    """What is broken by the bytes that were returned."""
    (happening,) = step.interruptions
    name = (Claim.FORK if happening.call is None else Claim.REENTRY).value
    given = _windows(_served(step, done))
    if happening.state is not None and not given.isdisjoint(_of_nothing()):
        return {name: "it returns bytes that follow from a state of zeros"}
    for handler in done.nested:
        assert happening.call is not None
        its = _windows(_served(happening.call, handler))
        if not given.isdisjoint(its):
            return {name: "it returns bytes that the call of the handler has returned, too"}
        given |= its
    held = decode(done.state, program.port.byte_order)
    last = step if happening.call is None else happening.call
    if held.generation == last.generation and held.pos < BATCH_BYTES:
        left = _windows(bytes(held.batch[held.pos :]))
        if not given.isdisjoint(left):
            return {name: "bytes that it has returned are still to be given out"}
    return {}


def _served(step: Step, done: Done) -> bytes:
    """What a call returned without leaving it to the kernel."""
    fell_back = any(made.call.buffer == step.call.buffer for made in done.made)
    if fell_back or done.result is None or done.result < 0:
        return b""
    return done.buffer[: done.result]


def _windows(octets: bytes) -> frozenset[bytes]:
    return frozenset(octets[at : at + WINDOW] for at in range(len(octets) - WINDOW + 1))


@cache
def _of_nothing() -> frozenset[bytes]:
    """All that a key and a batch of zeros lead to, in the first blocks."""
    return _windows(bytes(WINDOW)) | _windows(chacha20.stream((0,) * 8, 0, _BLOCKS))
