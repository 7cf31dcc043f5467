"""Pairs of calls that meet the same, but for secrets.

Secret are the key, the keys that the kernel gives, and bytes of the batch. To look for what a call
leaves of them, those that it gives out have to be the same in both: of the batch they are, and of a
key stream one byte is, since two keys are taken whose streams begin with the same one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from specs import chacha20
from specs.opaque_state import BATCH_BYTES, GENERATION_OFFSET, KEY_BYTES
from verify.getrandom.execution.refute import SECONDS
from verify.history.catalogue import EAGAIN, Histories
from verify.history.departure import Kind, differences
from verify.history.execution import execute
from verify.history.model import Answer
from verify.history.specified import specified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verify.history import Done, Program, Step

type Side = tuple[Step, int | None]
"""A call, and the seed of all that is not said of it."""

_GENERATION = 7
_BLOCKS = 2
"""That a refill takes."""
_WORD_BYTES = 4


@dataclass(frozen=True)
class Pair:
    """Two calls. `seeds` are those of all that is not said of them, None for zeros."""

    steps: tuple[Step, Step]
    seeds: tuple[int | None, int | None]

    @property
    def sides(self) -> tuple[Side, Side]:
        """Each call with its seed."""
        (first, second), (one, other) = self.steps, self.seeds
        return (first, one), (second, other)


@dataclass(frozen=True)
class Met:
    """What both calls of a pair meet: pos, how many bytes are asked for, and how many requests for
    a key are answered. In all of these but the last the kernel reseeds, in that as well if it
    `reseeds` on. With `asks` the generation of the state is an old one; then, or if the kernel has
    reseeded, the call asks for a key, and gets none if it is `refused`. A call that is `busy` finds
    in_use set."""

    pos: int
    length: int
    keys: int = 0
    asks: bool = False
    reseeds: bool = False
    refused: bool = False
    busy: bool = False


SERVED = tuple(Met(*one) for one in ((0, 1), (0, 96), (3, 7), (40, 16), (17, 64), (90, 4), (95, 1)))
REFUSED = (Met(0, 40, asks=True, refused=True), Met(90, 12, asks=True, refused=True))
REFILLED = tuple(Met(pos, BATCH_BYTES - pos + 1) for pos in (96, 95, 90, 40))
ASKED = (
    Met(90, 1, 1, asks=True),
    Met(40, 1, 2, asks=True),
    Met(40, 1, 2, asks=True, reseeds=True),
    Met(40, 1, 1, asks=True, reseeds=True, refused=True),
)
"""Of the key stream none of these gives out, or writes in one attempt, more than one byte."""
QUIET = (*SERVED, *REFUSED, *REFILLED, *ASKED)
LONGER = (
    Met(92, 200),
    Met(96, 64),
    Met(90, 30, 1, asks=True),
    Met(90, 70, 2, asks=True),
    Met(90, 5, 2, asks=True, reseeds=True),
    Met(40, 12, busy=True),
)
BLOCKS = (Met(96, 64), Met(92, 200), Met(90, 70, 2, asks=True))
FEW_BYTES = (Met(0, 3), Met(92, 70), Met(95, 2), *ASKED[2:])
"""They move so few that instructions can be stopped at again and again."""


@dataclass(frozen=True)
class _Secrets:
    """Those of one call: `octets` gives as many bytes, `given` what a call gives out instead of
    bytes of the batch, `key` one whose stream is given out from a block on."""

    octets: Callable[[int], bytes]
    given: Callable[[bytes], bytes]
    key: Callable[[int], bytes]


def quiet(program: Program) -> Iterator[Pair]:
    """Pairs of calls that give out the same bytes."""
    histories, order = Histories(program), program.architecture.byte_order
    sides = [_giving_the_same(order, side) for side in range(2)]
    for seed, met in enumerate(QUIET):
        first, second = (_step(histories, met, one) for one in sides)
        yield Pair((first, second), (seed, seed))


def unequal(program: Program) -> Iterator[Pair]:
    """Pairs of calls that give out blocks, under different keys."""
    histories = Histories(program)
    kinds = [some(0), some(1)]
    for seed, met in enumerate(BLOCKS):
        first, second = (_step(histories, met, _all(octets)) for octets in kinds)
        yield Pair((first, second), (seed, seed))


def any_secrets(
    program: Program, mets: Sequence[Met], kinds: Sequence[Callable[[int], bytes]]
) -> Iterator[Pair]:
    """Pairs of calls whose secrets are zeros with others, of these kinds, that give out other bytes
    as well; and with one that has the same secrets, and zeros wherever nothing is said of it."""
    histories = Histories(program)
    for seed, met in enumerate(mets):
        zeros, *others = (_step(histories, met, _all(octets)) for octets in (bytes, *kinds))
        for other in others:
            yield Pair((zeros, other), (seed, seed))
        yield Pair((zeros, zeros), (seed, None))


def ones(count: int) -> bytes:
    """As many bytes of which all bits are set."""
    return b"\xff" * count


def some(seed: int) -> Callable[[int], bytes]:
    """What gives as many random bytes as are asked for, others than registers and memory hold."""
    return random.Random(f"secrets {seed}").randbytes


def _all(octets: Callable[[int], bytes]) -> _Secrets:
    return _Secrets(octets, lambda given: octets(len(given)), lambda _: octets(KEY_BYTES))


def sides_of(pairs: Iterable[Pair]) -> list[Side]:
    """Each call of these once."""
    return list(dict.fromkeys(side for pair in pairs for side in pair.sides))


def executed_sides(program: Program, pairs: Iterable[Pair]) -> dict[Side, Done]:
    """What each call of these does. Raises QemuError as `execute` does."""
    sides = sides_of(pairs)
    histories, seeds = [(step,) for step, _ in sides], [seed for _, seed in sides]
    executed = execute(program, histories, SECONDS, seeds)
    return {side: done for side, (done, *_) in zip(sides, executed, strict=True)}


def as_specified(program: Program, pair: Pair, done: Iterable[Done]) -> bool:
    """Whether both calls have done what they should, but for what no caller expects. What is a
    secret of one that has not is not known."""
    return not any(
        difference.kind is not Kind.BREACH
        for step, one in zip(pair.steps, done, strict=True)
        for right in specified(program, (step,))
        for difference in differences(right, one)
    )


def _giving_the_same(order: str, side: int) -> _Secrets:
    return _Secrets(some(side), bytes, lambda block: colliding(order, block)[side])


@lru_cache
def colliding(order: str, block: int) -> tuple[bytes, bytes]:
    """Two keys, as they lie in memory in that byte order, whose streams from that block on begin
    with the same byte."""
    values, seen = random.Random(f"keys {block}"), dict[int, bytes]()
    while True:
        key = values.randbytes(KEY_BYTES)
        words = [
            int.from_bytes(key[at : at + _WORD_BYTES], "big" if order == "big" else "little")
            for at in range(0, KEY_BYTES, _WORD_BYTES)
        ]
        first = chacha20.stream(words, block, 1)[0]
        if first in seen:
            return seen[first], key
        seen[first] = key


def _step(histories: Histories, met: Met, secrets: _Secrets) -> Step:
    """The call, with these secrets."""
    whole = histories.state(_GENERATION - met.asks, met.pos, int(met.busy))
    served = 0 if met.asks or met.busy else min(met.length, BATCH_BYTES - met.pos)
    end = met.pos + served
    key = secrets.octets(KEY_BYTES) if met.asks else secrets.key(0)
    state = (
        whole[: met.pos]
        + secrets.given(whole[met.pos : end])
        + secrets.octets(BATCH_BYTES - end)
        + key
        + whole[GENERATION_OFFSET:]
    )
    answers = [
        Answer(
            KEY_BYTES,
            secrets.key(_BLOCKS * number),
            generation=_GENERATION + 1 + number if met.reseeds or number < met.keys - 1 else None,
        )
        for number in range(met.keys)
    ]
    if met.refused:
        answers.append(Answer(-EAGAIN))
    if met.refused or met.busy or met.reseeds:
        answers.append(Answer(met.length, bytes(n % 256 for n in range(met.length))))
    return histories.step(met.length, *answers, generation=_GENERATION, state=state)
