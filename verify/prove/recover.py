"""Compute key bits from a residue and the output block, as somebody who sees both would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verify.decide import Answer, check
from verify.prove.leak import least_error, residue_of, too_far
from verify.prove.segments import Segment, Segments
from verify.terms import Term, const, equal, extract, negate, variables

_BUDGET = 4_000_000


@dataclass(frozen=True)
class Recovered:
    """What follows of a key word: bits of `value` where `mask` is set; the word differs from
    `value` by less than 2^`error`, modulo 2^32."""

    word: int
    value: int
    mask: int
    error: int

    @property
    def says_something(self) -> bool:
        """Whether anything follows."""
        return bool(self.mask) or self.error < 32


def recover(
    segments: Segments,
    segment: Segment,
    value: Term,
    residue: int,
    block: Sequence[int],
    counter: int,
) -> list[Recovered]:
    """What follows of each key word when `value` turned out as `residue`, the block of output as
    its 16 words `block` and its counter as `counter`. Empty where the value is too far from the
    specification, or where no key gives these values."""
    found = residue_of(segments, segment, value)
    if too_far(found):
        return []
    facts = [*found.facts, equal(found.term, const(residue, found.term.width))]
    facts += [
        equal(found.names[word], const(number, word.width))
        for word, number in zip(found.specified.words, block, strict=True)
    ]
    facts += [
        equal(count, const(counter, count.width))
        for count in (segments.names.count, segments.names.block_count)
    ]
    some = check(facts, _BUDGET)
    if some.answer is not Answer.SAT:
        return []
    free = variables(facts)
    recovered = [
        _word(facts, number, word, some.model[word])
        for number, word in enumerate(segments.names.key)
        if word in free
    ]
    return [one for one in recovered if one.says_something]


def _word(facts: Sequence[Term], number: int, word: Term, value: int) -> Recovered:
    def can(difference: Term) -> bool:
        return check((*facts, difference), _BUDGET).answer is not Answer.UNSAT

    known = const(value, word.width)
    if not can(negate(equal(word, known))):
        return Recovered(number, value, (1 << word.width) - 1, 0)
    mask = 0
    for bit in range(word.width):
        if not can(negate(equal(extract(word, bit, bit), extract(known, bit, bit)))):
            mask |= 1 << bit
    return Recovered(
        number, value, mask, least_error(can, word, known, word.width - mask.bit_count())
    )
