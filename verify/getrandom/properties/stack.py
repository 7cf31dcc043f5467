"""`stack`: what a call leaves on the stack is no secret.

Of all that was written there and is there still when it returns, also below the stack pointer, by
ChaCha20 and to a shadow stack, nothing depends on bytes of the batch but those that the call has
written to the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator

from verify.getrandom.claims import Claim, Difference
from verify.getrandom.properties.model import Walk, described
from verify.getrandom.walk.paths import Path
from verify.getrandom.walk.setting import memory_of
from verify.getrandom.walk.shadow import SHADOW
from verify.lift.memory import STACK
from verify.terms import Term


def found(walk: Walk) -> Iterator[Difference]:
    """Whatever on the stack is not shown to be no secret."""
    yield from walk.unfinished(Claim.STACK)
    yield from walk.choices(Claim.STACK)
    for path in (path for part in walk.parts for path in part.returned):
        copied = memory_of(path.machine).copied
        for where, value in left_on_stack(path):
            variable = walk.secret(value, copied)
            if variable is not None:
                reason = f"{where} may hold {described(variable)}"
                yield walk.differs_at_end(Claim.STACK, path, reason)


def left_on_stack(path: Path) -> Iterator[tuple[str, Term]]:
    """Where something is left, and a value, or a variable that it may depend on."""
    machine = path.machine
    memory = memory_of(machine)
    for variable in memory.below:
        yield "the stack below, where ChaCha20 was called,", variable
    for (region, _), cells in memory.cells().items():
        if region in (STACK, SHADOW):
            for offset, size, value in list(cells):
                yield f"the {region} at {offset:+d}, {size} bytes,", machine.converter.term(value)
