"""Histories: short ones that show one thing each, and random ones.

Some show what nobody is promised: the state changes while the kernel answers, as after a page that
was dropped and a handler that called then. `is_granted` tells those apart.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from specs.getrandom_world import Call
from specs.opaque_state import BATCH_BYTES, STATE_BYTES, State, encode
from verify.history.model import PERSISTENT, Answer, Interruption, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.history.model import History, Program

BUFFER = 0x300_0105
PAGE = 0x200_0000
STATE = PAGE + 0x40
EAGAIN, EINTR, EFAULT, EINVAL, ENOSYS = 11, 4, 14, 22, 38
HUGE = 2**31 + 5
MOST_BUFFER = 0x5000
HIGH = {64: 0x0013_5000_0000, 32: 0x7000_0000}
"""An address with high bits, by pointer width."""

KEYS = tuple(bytes((16 * n + m + 1) % 256 for m in range(32)) for n in range(6))
"""What the kernel gives, in order."""


class Histories:
    """Those that show one thing each, for one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.order = program.architecture.byte_order

    def state(self, generation: int, pos: int, in_use: int = 0) -> bytes:
        """One as calls leave it: zero up to pos."""
        rest = bytes(range(pos + 1, BATCH_BYTES + 1))
        values = random.Random(pos)
        state = State(
            batch=(*bytes(pos), *rest),
            key=tuple(values.randbytes(32)),
            generation=generation,
            pos=pos,
            in_use=in_use,
            padding=tuple(values.randbytes(6)),
        )
        return encode(state, self.order)

    def step(  # noqa: PLR0913  # one for each thing that may differ
        self,
        length: int,
        *answers: Answer,
        generation: int = 7,
        state: bytes | None = None,
        is_ready: int = 1,
        flags: int = 0,
        address: int = STATE,
        size: int = STATE_BYTES,
        buffer: int = BUFFER,
    ) -> Step:
        """A call for `length` bytes; a buffer for as many is there, up to MOST_BUFFER."""
        content = b"\xee" * min(length, MOST_BUFFER) if buffer else b""
        call = Call(buffer, length, flags, address, size)
        return Step(call, generation, is_ready, content, state, answers)

    def named(self) -> dict[str, History]:
        """By the name of what they show."""
        fresh, spent = bytes(STATE_BYTES), self.state(7, BATCH_BYTES)
        half, stale = self.state(7, 40), self.state(6, 40)
        step, key, other_key = self.step, Answer(32, KEYS[0]), Answer(32, KEYS[1])
        given = Answer(20, bytes(range(100, 120)))
        refused = Answer(-EAGAIN)
        bits = self.program.architecture.bits
        largest, high, upper = 2**bits - 1, HIGH[bits], 7 + (1 << 32)
        end = self.program.page_bytes - STATE_BYTES
        reseeded = [Answer(32, KEYS[n], generation=8 + n) for n in range(3)]
        query = step(0, state=self.state(7, 0), size=largest, buffer=0)
        return {
            "first call": (step(40, key, flags=1, state=fresh), step(40)),
            "from the batch": (step(20, state=half), step(30), step(7)),
            "nothing but blocks": (step(128, state=spent), step(64)),
            "batch, blocks and refill": (step(56 + 128 + 10, state=half), step(86), step(1)),
            "thousands of bytes": (step(56 + 0x3FFF, state=half), step(1)),
            "high addresses": (
                step(200, key, state=stale, address=high + 0x40, buffer=high + 0x10_0003),
                step(40, address=high + 0x40, buffer=high + 0x10_0003),
            ),
            "exactly the batch": (step(56, state=half), step(96), step(1)),
            "reseeded before": (step(10, key, state=stale), step(90)),
            "no key": (step(20, refused, given, state=stale), step(10, refused, given)),
            "no key, then one": (step(20, refused, given, state=stale), step(10, key)),
            "half a key": (step(20, Answer(16, KEYS[0][:16]), given, state=stale),),
            "reseeded meanwhile": (
                step(20, *reseeded[:1], other_key, state=stale),
                step(4, generation=8),
            ),
            "reseeded twice meanwhile": (
                step(20, *reseeded[:2], Answer(32, bytes(20)), state=stale),
                step(4, Answer(32, KEYS[2]), generation=9),
            ),
            "wiped meanwhile": (
                step(20, Answer(32, KEYS[0], state=bytes(STATE_BYTES)), other_key, state=stale),
                step(30),
            ),
            "interrupted meanwhile": (
                step(20, Answer(32, KEYS[0], state=self.state(7, 10)), state=stale),
                step(30),
            ),
            "in use": (step(20, given, state=self.state(7, 40, in_use=1)), step(20, given)),
            "in use, no length": (step(0, state=self.state(7, 40, in_use=1)),),
            "not ready": (step(20, given, state=half, is_ready=0), step(20)),
            "not ready, no length": (step(0, Answer(-EAGAIN), state=half, is_ready=0),),
            "no length": (step(0, state=stale), step(0, buffer=0)),
            "known flags": tuple(step(3, state=half, flags=flags) for flags in range(8)),
            "unknown flags": tuple(
                step(3, Answer(-EINVAL), state=half, flags=1 << bit) for bit in (3, 4, 15, 16, 31)
            ),
            "unknown flag, at the start of a page": (
                step(3, Answer(-EINVAL), state=half, flags=8, address=PAGE),
            ),
            "other sizes of the state": tuple(
                step(20, given, state=half, size=size)
                for size in (0, 143, 145, 144 + (1 << 16), largest - 1, largest)
            ),
            "across a page": tuple(
                step(20, state=half, address=PAGE + end + more) for more in (1, 71, 143)
            ),
            "across a page, all else wrong": (
                step(20, state=half, address=PAGE + end + 1, size=1, flags=8, is_ready=0),
            ),
            "at the ends of a page": (
                step(20, state=half, address=PAGE + end),
                step(20, address=PAGE),
                step(20, address=PAGE + end + STATE_BYTES),
            ),
            "query": (query, replace(query, is_ready=0, state=bytes(range(144)))),
            "not quite the query": (
                step(1, Answer(-EFAULT), state=half, size=largest, buffer=0),
                step(0, given, state=half, size=largest),
                step(0, given, state=half, size=largest, buffer=0, flags=1),
                step(0, given, state=half, size=largest - 1, buffer=0),
                step(0, given, state=half, size=STATE_BYTES, buffer=0, is_ready=0),
            ),
            "huge, not ready": (step(HUGE, Answer(-EINTR), state=half, is_ready=0),),
            "huge, no key": (step(HUGE, refused, Answer(-ENOSYS), state=stale),),
            "no lower half of a length": (
                step(1 << bits // 2, refused, Answer(-ENOSYS), state=stale),
            ),
            "reseeded in the upper half": (step(20, key, state=half, generation=upper),),
            "reseeded in the upper half meanwhile": (
                step(20, Answer(32, KEYS[0], generation=upper), other_key, state=stale),
            ),
            "reseeded again and again": (
                step(
                    1,
                    *(Answer(32, KEYS[n % len(KEYS)], generation=8 + n) for n in range(PERSISTENT)),
                    state=stale,
                ),
            ),
            "refused again and again": (step(1, *[refused] * PERSISTENT, state=stale),),
        }

    def inside(self) -> dict[str, History]:
        """The same inside a time namespace, where that makes a difference to the program."""
        if self.program.layout.namespace is None:
            return {}
        return {
            f"{name}, inside a time namespace": within(history, inside=True)
            for name, history in self.named().items()
        }

    def interrupted(self, pos: int = 40) -> dict[str, Step]:
        """Calls with one interruption, which is still without an address, by what they show."""
        half, stale = self.state(7, pos), self.state(6, pos)
        answers = (Answer(32, KEYS[0]), Answer(32, KEYS[1]), Answer(20, bytes(range(20))))
        handler = self.step(30, Answer(32, KEYS[2]), Answer(30, bytes(30)), buffer=0x500_0003)
        happenings = {
            "wiped": Interruption(0, state=bytes(STATE_BYTES)),
            "reseeded": Interruption(0, generation=8),
            "called again": Interruption(0, call=handler),
        }
        steps = {
            "within the batch": self.step(20, *answers, state=half),
            "with refill": self.step(200, *answers, state=half),
            "with reseed": self.step(20, *answers, state=stale),
        }
        return {
            f"{what} {where}": replace(step, interruptions=(happening,))
            for what, happening in happenings.items()
            for where, step in steps.items()
        }


def within(history: History, *, inside: bool) -> History:
    """The same calls inside a time namespace, or outside of one."""
    return tuple(replace(step, inside=inside) for step in history)


def is_granted(history: History) -> bool:
    """Whether the kernel and the caller keep to what `specs.getrandom_contract` says of them.

    A state that changes while the kernel answers is one that is zeroed: a handler that calls then
    finds it in use.
    """
    answers = (answer for step in history for answer in step.answers)
    return all(answer.state in (None, bytes(STATE_BYTES)) for answer in answers)


def at(step: Step, address: int) -> History:
    """The history of the one call, interrupted at that address."""
    (interruption,) = step.interruptions
    return (replace(step, interruptions=(replace(interruption, address=address),)),)


def random_history(program: Program, values: random.Random, calls: int) -> History:
    """Calls of all kinds, most of them served, from a state as calls leave it or a new one; half of
    those histories are of a process inside a time namespace, where that makes a difference."""
    inside = program.layout.namespace is not None and values.random() < 0.5
    return within(tuple(_random_steps(program, values, calls)), inside=inside)


def _random_steps(program: Program, values: random.Random, calls: int) -> Iterator[Step]:
    histories = Histories(program)
    generation = values.randrange(1, 2**64)
    state: bytes | None = histories.state(
        values.choice((generation, generation - 1)), values.randrange(BATCH_BYTES + 1)
    )
    if values.random() < 0.3:
        state = bytes(STATE_BYTES)
    address = PAGE + values.randrange(program.page_bytes - STATE_BYTES + 1)
    for _ in range(calls):
        if values.random() < 0.2:
            generation = values.randrange(1, 2**64)
        kind, length = values.random(), _length(values)
        yield Step(
            call=Call(
                buffer=BUFFER + values.randrange(64),
                len=length,
                flags=values.choice((0, 1, 2, 4, 7)) if kind < 0.95 else values.getrandbits(32),
                opaque_state=address if kind > 0.02 else address | program.page_bytes - 1,
                opaque_len=STATE_BYTES if kind > 0.05 else values.randrange(300),
            ),
            generation=generation,
            is_ready=values.random() > 0.05,
            buffer=values.randbytes(length),
            state=state,
            answers=tuple(_answers(histories, values)),
        )
        state = None
        if values.random() < 0.1:
            state = values.choice(
                (bytes(STATE_BYTES), histories.state(generation, values.randrange(97), in_use=1))
            )


def _length(values: random.Random) -> int:
    return values.choice((0, *[values.randrange(1, limit) for limit in (8, 33, 100, 200, 700)]))


def _answers(histories: Histories, values: random.Random) -> Iterator[Answer]:
    """For the most system calls that a call can make: two for keys, and the fallback."""
    for _ in range(3):
        size = values.choice((32, 32, 32, 32, 32, values.randrange(33)))
        state, generation = None, None
        if values.random() < 0.2:
            generation = values.randrange(1, 2**64)
        if values.random() < 0.1:
            state = values.choice((bytes(STATE_BYTES), histories.state(5, values.randrange(97))))
        failed = values.random() < 0.1
        yield Answer(
            result=-values.choice((EAGAIN, EINTR, EFAULT, ENOSYS)) if failed else size,
            written=b"" if failed else values.randbytes(size),
            state=state,
            generation=generation,
        )
