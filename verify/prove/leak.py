"""What a value that was left behind gives away, when the last block of output is known.

Decided by comparing two runs: if two keys that differ in a bit cannot lead to the same output
block and the same value, the bit follows from them. If they cannot differ by 2^m or more, the key
word follows but for an error below 2^m, though the carry may leave no single bit certain. The
output block, the feed-forward and the operations next to the value are constraints of the
comparison; what lies deeper in the rounds is left free. So a bit that is said to follow does
follow, and more may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from verify.decide import Answer, check
from verify.prove.correspondence import (
    LANE,
    Abstraction,
    Specified,
    cut,
    match,
    specified_block,
)
from verify.prove.place import OPERATIONS, STATE_WORDS, operation
from verify.prove.segments import Segment, Segments
from verify.prove.setting import high_word, low_word
from verify.terms import (
    Term,
    const,
    disjunction,
    equal,
    extract,
    negate,
    postorder,
    substitute,
    subtract,
    unsigned_less,
    var,
    variables,
)

_LAST_QUARTER_ROUNDS = 4
_DEPTH = 2
_BUDGET = 4_000_000
_DEEP = 200


@dataclass(frozen=True)
class Leak:
    """A dirty value in words, and what of each key word follows from it, in words."""

    term: str
    follows: Mapping[int, str]

    @property
    def text(self) -> str:
        """One line."""
        given = ", ".join(f"{what} of key word {word}" for word, what in self.follows.items())
        known = given or "no bit of the key shown to follow"
        return f"{self.term}; with the last output block: {known}"


@dataclass(frozen=True)
class Residue:
    """A value that was left behind, over one variable for each word of the specification in it.

    `names` are these variables by word, `term` is the value, `facts` are the definitions of words
    near it.
    """

    specified: Specified
    names: Mapping[Term, Term]
    term: Term
    facts: tuple[Term, ...]


def residue_of(segments: Segments, segment: Segment, value: Term) -> Residue:
    """What `value` is at the end of a segment, in terms of the block that the segment computes."""
    count = segment.block_count
    specified = specified_block(segments.names.key, low_word(count), high_word(count))
    names = {word: var(f"word{n}", LANE) for n, word in enumerate(specified.made)}
    written = {write.value for write in segment.machine.register_writes}
    written |= {access.value for access in segment.accesses}
    found = match([value], written, specified)
    code = Abstraction(
        {term: cut(term, words, names, n) for n, (term, words) in enumerate(found.items())}
    )
    term = code.outside(value)
    return Residue(specified, names, term, tuple(_near(names, term)))


def too_far(residue: Residue) -> bool:
    """Whether the value is too far from the specification to say what follows from it."""
    return sum(1 for _ in islice(postorder([residue.term]), _DEEP)) == _DEEP


def leak(segments: Segments, segment: Segment, value: Term) -> Leak:
    """What `value` gives away at the end of a segment that leaves the function."""
    residue = residue_of(segments, segment, value)
    words = _in_words(segments, residue.names, residue.specified, residue.term)
    if too_far(residue):
        return Leak(f"{words}; too far from the specification to say more", {})
    return Leak(words, _follows(segments, residue))


def _in_words(
    segments: Segments, names: Mapping[Term, Term], specified: Specified, residue: Term
) -> str:
    titles: dict[Term, str] = {}
    for number, word in enumerate(specified.operations):
        if word in names:
            made = operation(specified, number)
            kind = f"the {specified.made[word]} of " if made.round else ""
            titles.setdefault(names[word], f"{kind}{made.where}")
    titles |= {word: f"key word {n}" for n, word in enumerate(segments.names.key)}
    inside = sorted(variables([residue]), key=lambda v: v.name)
    parts = [titles[v] for v in inside if v in titles]
    if not parts:
        return "an intermediate value"
    if residue in titles:
        return parts[0]
    return f"computed from {', '.join(parts[:3])}{' and more' if len(parts) > 3 else ''}"


def _follows(segments: Segments, residue: Residue) -> dict[int, str]:
    """Key word number to what of it follows; words of which nothing does are missing."""
    words = list(residue.names)
    outputs = {residue.names[word] for word in words[-STATE_WORDS:]}
    facts = residue.facts
    public = {segments.names.count, segments.names.block_count, *outputs}
    private = sorted(variables([*facts, residue.term]) - public, key=lambda v: v.name)
    twins = {v: var(f"{v.name}'", v.width) for v in private}
    term = residue.term
    same = [*facts, *substitute(facts, twins), equal(term, *substitute([term], twins))]
    found = {}
    for number, word in enumerate(segments.names.key):
        twin = twins.get(word)
        if twin is not None and (known := _known(same, word, twin)):
            found[number] = known
    return found


def _near(names: Mapping[Term, Term], residue: Term) -> list[Term]:
    """The definitions of words at the end of the block that share a variable with the residue, or
    with such a definition."""
    spec = Abstraction(names)
    words = list(names)[-STATE_WORDS - OPERATIONS * _LAST_QUARTER_ROUNDS :]
    definitions = [equal(names[word], spec.inside(word)) for word in words]
    near: dict[Term, None] = {}
    known = {v for v in variables([residue]) if v.width == LANE}
    for _ in range(_DEPTH):
        found = [fact for fact in definitions if known & variables([fact])]
        near |= dict.fromkeys(found)
        known |= variables(found)
    return list(near)


def _known(same: list[Term], word: Term, twin: Term) -> str:
    """How much of a word is the same, or nearly, in the two runs; empty for nothing."""

    def can(difference: Term) -> bool:
        return check((*same, difference), _BUDGET).answer is not Answer.UNSAT

    if not can(negate(equal(word, twin))):
        return f"all {word.width} bits"
    bits = [
        negate(equal(extract(word, bit, bit), extract(twin, bit, bit))) for bit in range(word.width)
    ]
    certain = 0
    if check((*same, *bits), _BUDGET).answer is Answer.UNSAT:
        certain = sum(not can(bit) for bit in bits)
    most = word.width - max(certain, 1)
    error = least_error(can, word, twin, most)
    if error < most:
        return f"{word.width - error} bits (all but an error below 2^{error})"
    return f"{certain} bits" if certain else ""


def least_error(can: Callable[[Term], bool], word: Term, twin: Term, most: int) -> int:
    """The least m such that the two words cannot differ by 2^m or more, modulo 2^width; `most`
    where it is not below that."""
    width = word.width
    difference = subtract(word, twin)
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        bound = const(1 << middle, width)
        near = disjunction(
            (
                unsigned_less(difference, bound),
                unsigned_less(subtract(const(0, width), difference), bound),
            )
        )
        if can(negate(near)):
            low = middle + 1
        else:
            high = middle
    return low
