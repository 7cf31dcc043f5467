"""Search for words of secrets that a compiled getrandom leaves as they are.

Calls that give out blocks of the key stream cannot give out the same under two keys. So what two of
them leave is looked through for words of what each keeps secret. That four bytes of a register, or
of the stack, are the same word in both by chance happens once in 2 ** 64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specs.opaque_state import BATCH_BYTES, KEY_BYTES, KEY_OFFSET, decode
from verify.counterexample import Look, Observation
from verify.getrandom.claims import Claim
from verify.getrandom.execution.pairs import as_specified, executed_sides
from verify.getrandom.execution.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.getrandom.execution.pairs import Pair
    from verify.history import Done, Program, Step
    from verify.history.model import Left

_WORD = 4
"""Bytes of one."""

type _Place = tuple[str, int]
"""A register and an offset in bytes from its least significant one; or an empty text, and an offset
from the stack pointer at entry."""


def remnants(program: Program, pairs: Sequence[Pair]) -> Iterator[Seen]:
    """Words that both calls of a pair leave at the same place. Raises QemuError where nothing can
    be executed."""
    done = executed_sides(program, pairs)
    for pair in pairs:
        ours, theirs = (done[side] for side in pair.sides)
        first, second = (
            _found(program, step, one) for step, one in zip(pair.steps, (ours, theirs), strict=True)
        )
        found = [(place, word) for place, word in first.items() if second.get(place) == word]
        if found and as_specified(program, pair, (ours, theirs)):
            for place, word in found:
                yield _seen(place, word, pair, (ours, theirs))


def _seen(place: _Place, word: str, pair: Pair, done: tuple[Done, Done]) -> Seen:
    register, offset = place
    if register:
        text = f"{register} holds {word} after both calls"
        return Seen(Claim.SECRECY, text, pair, done, Observation(Look.REGISTER, register=register))
    text = f"{_WORD} bytes at sp{offset:+d} are {word} after both calls"
    where = Observation(Look.RETURN, region="stack", offset=offset, size=_WORD)
    return Seen(Claim.STACK, text, pair, done, where)


def _found(program: Program, step: Step, done: Done) -> dict[_Place, str]:
    """Where a call leaves which word."""
    if done.left is None:
        return {}
    words = dict(_words(program, step, done))
    return {place: words[octets] for place, octets in _places(done.left) if octets in words}


def _words(program: Program, step: Step, done: Done) -> Iterator[tuple[bytes, str]]:
    """Each secret word, its bytes in both orders, with what it is."""
    assert step.state is not None
    keys = [answer.written for answer in step.answers if len(answer.written) == KEY_BYTES]
    pos = decode(done.state, program.port.byte_order).pos
    held = {
        "the old key": step.state[KEY_OFFSET:][:KEY_BYTES],
        **{f"key {n} of the kernel": key for n, key in enumerate(keys)},
        "the new key": done.state[KEY_OFFSET:][:KEY_BYTES],
        "the new batch": done.state[:BATCH_BYTES],
    }
    for name, octets in held.items():
        first = -(-pos // _WORD) * _WORD if name == "the new batch" else 0
        for at in range(first, len(octets), _WORD):
            word = octets[at : at + _WORD]
            for order in (word, word[::-1]):
                yield order, f"word {at // _WORD} of {name}"


def _places(left: Left) -> Iterator[tuple[_Place, bytes]]:
    for name, value in left.registers.items():
        octets = value.to_bytes(-(-value.bit_length() // 8), "little")
        for at in range(len(octets) - _WORD + 1):
            yield (name, at), octets[at : at + _WORD]
    for at in range(len(left.stack) - _WORD + 1):
        yield ("", at - len(left.stack)), left.stack[at : at + _WORD]
