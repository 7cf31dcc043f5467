"""`secrecy`: no secret is in a register when a call returns, or was written to a scalar.

Secret are the key, and of each batch all bytes but those that the call has written to the buffer
and erased. What ChaCha20 or the kernel leaves in registers may depend on all that was in them
before. What is stored in generation, pos and in_use never depends on bytes of the batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from verify.getrandom.claims import Claim, Difference, Note
from verify.getrandom.properties.model import Walk, described
from verify.getrandom.properties.stack import left_on_stack
from verify.getrandom.reasoning.dependence import dependences
from verify.getrandom.walk.events import FieldWrite, SystemCall
from verify.getrandom.walk.origins import COPIED, DISCARDED
from verify.getrandom.walk.paths import Path
from verify.getrandom.walk.setting import memory_of
from verify.terms import Term

DISCARDED_LEFT = (
    "bytes that a failed attempt has written to the buffer may be left in registers or on the stack"
)


def found(walk: Walk) -> Iterator[Difference | Note]:
    """Whatever is not shown to be no secret."""
    yield from walk.unfinished(Claim.SECRECY)
    yield from walk.choices(Claim.SECRECY)
    for path, events in walk.paths():
        for event in events:
            if isinstance(event, FieldWrite):
                secret = walk.of_batch(event.value)
                if secret is not None:
                    reason = f"{event.field} is made from {described(secret)}"
                    yield walk.differs(Claim.SECRECY, event.at, reason)
        if path.returned:
            copied = memory_of(path.machine).copied
            for offset, size, value in _left_in_registers(path):
                secret = walk.secret(value, copied)
                if secret is not None:
                    register, *_ = walk.setting.engine.layout.enclosing(offset, size)
                    reason = f"{register} may hold {described(secret)}"
                    yield walk.differs_at_end(Claim.SECRECY, path, reason)
    yield from _notes(walk)


def _notes(walk: Walk) -> Iterator[Note]:
    """Whether bytes may be left that an attempt has written to the buffer and that failed."""
    for path in (path for part in walk.parts for path in part.returned):
        gone = {DISCARDED}
        if path.events and isinstance(path.events[-1], SystemCall):
            gone |= memory_of(path.machine).copied | {COPIED}
        left = [value for *_, value in _left_in_registers(path)]
        left += [value for _, value in left_on_stack(path)]
        if any(gone & walk.reached(one) for one in dependences(left)):
            yield Note(Claim.SECRECY, DISCARDED_LEFT)
            return


def _left_in_registers(path: Path) -> Iterator[tuple[int, int, Term]]:
    """Offset and size in bytes of what is in the register file, and its value."""
    machine = path.machine
    for offset, size, value in list(machine.registers):
        yield offset, size, machine.converter.term(value)
