"""From a pair of calls in which a secret shows to one whose calls differ in as little as possible:
one byte of a secret, or one of the secrets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from specs.opaque_state import GENERATION_OFFSET, KEY_OFFSET
from verify.getrandom.claims import Claim
from verify.getrandom.execution.pairs import Pair
from verify.getrandom.execution.residues import residues
from verify.getrandom.execution.steered import accessed, steered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verify.getrandom.execution.seen import Seen
    from verify.history import Program, Step

type _Look = Callable[[Program, Sequence[Pair]], Iterable[Seen]]
type _Byte = tuple[int, int]
"""A byte of a secret: -1 for the state or the number of an answer of the kernel, and an offset."""

_STATE = -1


def nearest(program: Program, seen: Seen) -> Seen:
    """The same on a pair that differs in less, where there is one: in one secret, and of that in a
    half, a quarter and so on. Raises QemuError where nothing can be executed."""
    looks: tuple[_Look, ...] = (steered, accessed) if seen.property is Claim.TIMING else (residues,)
    for look in looks:
        if _first(program, look, [seen.pair], seen) is None:
            continue
        parts = list(_by_secret(_differing(seen.pair)).values())
        while parts:
            pairs = [_with_only(seen.pair, part) for part in parts]
            found = _first(program, look, pairs, seen)
            if found is None:
                break
            seen = found
            kept = list(_differing(found.pair))
            middle = len(kept) // 2
            parts = [kept[:middle], kept[middle:]] if middle else []
        break
    return seen


def _first(program: Program, look: _Look, pairs: Sequence[Pair], seen: Seen) -> Seen | None:
    """The first of these pairs in which the same shows, at the same place."""
    place = (seen.property, seen.observation)
    every = look(program, pairs)
    return next((one for one in every if (one.property, one.observation) == place), None)


def _secrets(step: Step) -> Iterator[tuple[int, bytes]]:
    if step.state is not None:
        yield _STATE, step.state[:GENERATION_OFFSET]
    for number, answer in enumerate(step.answers):
        yield number, answer.written


def _differing(pair: Pair) -> Iterator[_Byte]:
    for (where, one), (_, other) in zip(*map(_secrets, pair.steps), strict=True):
        for at, (mine, its) in enumerate(zip(one, other, strict=True)):
            if mine != its:
                yield where, at


def _by_secret(octets: Iterable[_Byte]) -> dict[str, list[_Byte]]:
    """Those of the batch, of the key, and of each answer."""
    found: dict[str, list[_Byte]] = {}
    for where, at in octets:
        state = "batch" if at < KEY_OFFSET else "key"
        found.setdefault(state if where == _STATE else str(where), []).append((where, at))
    return found


def _with_only(pair: Pair, kept: Iterable[_Byte]) -> Pair:
    """The pair whose second call differs from the first in these bytes only."""
    first, second = pair.steps
    states = (first.state or b"", second.state or b"")
    state = _mixed(*states, {at for where, at in kept if where == _STATE})
    answers = tuple(
        replace(
            one, written=_mixed(one.written, other.written, {at for n, at in kept if n == number})
        )
        for number, (one, other) in enumerate(zip(first.answers, second.answers, strict=True))
    )
    return Pair((first, replace(first, state=state or None, answers=answers)), pair.seeds)


def _mixed(one: bytes, other: bytes, kept: set[int]) -> bytes:
    pairs = enumerate(zip(one, other, strict=True))
    return bytes(its if at in kept else mine for at, (mine, its) in pairs)


def difference(pair: Pair) -> str:
    """In which secrets the calls differ, in words."""
    parts = []
    for name, octets in _by_secret(_differing(pair)).items():
        whole = f"key {name} of the kernel" if name.isdigit() else f"the {name}"
        offset = KEY_OFFSET if name == "key" else 0
        (_, at), *more = octets
        parts.append(f"bytes of {whole}" if more else f"byte {at - offset} of {whole}")
    return " and ".join(parts) or "registers and memory of which nothing is said"
