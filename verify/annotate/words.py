"""Which words of the specification the values of the code hold, as far as that is proved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from specs.chacha20 import CONSTANTS, COUNTER_HIGH, COUNTER_LOW, STATE_WORDS
from verify.properties.output import Compared, comparison
from verify.prove.correspondence import LANE
from verify.prove.place import Operation, operation
from verify.prove.segments import Segments
from verify.prove.setting import high_word, low_word
from verify.terms import Term, const, extract, variables
from verify.verdict import Verdict

_FIRST_KEY_WORD = len(CONSTANTS)
_CONSTANT_WORDS = {value: number for number, value in enumerate(CONSTANTS)}


@dataclass(frozen=True)
class Words:
    """The words of the specification in terms of the code.

    `matched` gives the words in the lanes of a term by their lowest bit, `numbers` the operations
    that make a word, in order; several where they make the same. `operations` are all of them and
    `kinds` their kinds. `outputs` are the numbers of the words of the output that are proved,
    `initial` those of the words of the initial state but for the constants. `failed` are words of
    which not every place in the code is proved; `counter` tells whether what is left at counter is.
    """

    matched: Mapping[Term, Mapping[int, Term]]
    numbers: Mapping[Term, tuple[int, ...]]
    kinds: tuple[str, ...]
    outputs: frozenset[int]
    initial: Mapping[Term, int]
    failed: Collection[Term] = ()
    operations: Sequence[Operation] = ()
    counter: bool = False
    _held: dict[Term, list[Term]] = field(default_factory=dict, repr=False)

    def made(self, number: int) -> tuple[Operation, str]:
        """The operation of that number, and its kind."""
        found = self.operations[number]
        return found, self.kinds[number] if found.round else "sum with the initial state"

    def held(self, value: Term) -> list[Term]:
        """The words that operations make in the lanes of a value, the lowest first."""
        found = self._held.get(value)
        if found is None:
            whole = self.matched.get(value, {})
            words = (
                whole.get(low) or self.matched.get(lane, {}).get(0) for low, lane in _lanes(value)
            )
            found = [word for word in words if word is not None and word not in self.failed]
            self._held[value] = found
        return found

    def initial_words(self, value: Term) -> tuple[int, ...]:
        """The numbers of the words of the initial state in the lanes of a value; the zeros of the
        nonce are not told from others."""
        found = set()
        for low in range(0, value.width - LANE + 1, LANE):
            lane = bits(value, low, LANE)
            known = lane.value
            number = self.initial.get(lane) if known is None else _CONSTANT_WORDS.get(known)
            if number is not None:
                found.add(number)
        return tuple(sorted(found))


def words_of(segments: Segments, verdicts: Mapping[str, Verdict]) -> Words:
    """The words in a function; `verdicts` are those of the obligations, by id."""
    proved = {one for one, verdict in verdicts.items() if verdict is Verdict.PROVED}
    names = segments.names
    initial = {word: _FIRST_KEY_WORD + number for number, word in enumerate(names.key)}
    for count in (names.count, names.block_count):
        initial |= {low_word(count): COUNTER_LOW, high_word(count): COUNTER_HIGH}
    stored = [one for one in verdicts if one.startswith("counter/")]
    counter = bool(stored) and proved.issuperset(stored)
    if not any(one.startswith("output/word") for one in proved):
        return Words({}, {}, (), frozenset(), initial, counter=counter)
    matched: dict[Term, Mapping[int, Term]] = {}
    numbers: dict[Term, list[int]] = {}
    outputs = set(range(STATE_WORDS))
    failed: set[Term] = set()
    compared = comparison(segments).compared
    for one in compared:
        matched |= one.found.matched
        of_this: dict[Term, list[int]] = {}
        for number, word in enumerate(one.specified.operations):
            of_this.setdefault(_without_zero(word), []).append(number)
        numbers |= of_this
        failed |= _failed(one, proved, outputs)
    specified = compared[0].specified if compared else None
    return Words(
        matched,
        {word: tuple(found) for word, found in numbers.items()},
        specified.kinds if specified else (),
        frozenset(outputs if compared else ()),
        initial,
        failed,
        tuple(operation(specified, n) for n in range(len(specified.kinds))) if specified else (),
        counter,
    )


def _failed(one: Compared, proved: Collection[str], outputs: set[int]) -> set[Term]:
    """The words of which a pair is not proved, or rests on one that is not; words of the output
    for which that is so are taken from `outputs`."""
    if all(obligation in proved for obligation in one.obligations):
        return set()
    words = {variable: word for word, variable in one.found.names.items()}
    failed: set[Term] = set()
    first_output = len(one.found.pairs) - STATE_WORDS
    pairs = zip(one.found.pairs, one.obligations, strict=True)
    for number, (pair, obligation) in enumerate(pairs):
        # What is the same on both sides of a formula is not in it any more.
        below = {words[v] for v in variables([pair.formula]) if v in words}
        below.update(map(_without_zero, pair.word.args))
        is_output = number >= first_output
        if is_output:
            below.add(_without_zero(pair.word))
        if obligation in proved and not below & failed:
            continue
        if is_output:
            outputs.discard(number - first_output)
        else:
            failed.add(pair.word)
    return failed


def _without_zero(word: Term) -> Term:
    """The operand to which an operation adds nothing, else the word itself."""
    while word.op in ("bvxor", "bvadd") and any(arg.value == 0 for arg in word.args):
        (word,) = (arg for arg in word.args if arg.value != 0)
    return word


def _lanes(value: Term) -> Iterator[tuple[int, Term]]:
    for low in range(0, value.width - LANE + 1, LANE):
        yield low, extract(value, low + LANE - 1, low)


def bits(value: Term, low: int, width: int) -> Term:
    """`width` bits of a value from the bit `low` on, taken from below what only moves them."""
    found = extract(value, low + width - 1, low)
    inner, at = (found.args[0], found.bounds[1]) if found.op == "extract" else (found, 0)
    first, amount = inner.args[0] if inner.args else inner, _moved_by(inner)
    match inner.op:
        case "rotate_left" if (start := (at - inner.amount) % inner.width) + width <= inner.width:
            return bits(first, start, width)
        case "bvlshr" | "bvashr" if amount is not None and at + amount + width <= inner.width:
            return bits(first, at + amount, width)
        case "bvlshr" if amount is not None and at + amount >= inner.width:
            return const(0, width)
        case "bvshl" if amount is not None and amount <= at:
            return bits(first, at - amount, width)
        case "bvshl" if amount is not None and at + width <= amount:
            return const(0, width)
        case "bvor" | "bvxor":
            parts = [bits(arg, at, width) for arg in inner.args]
            kept = [part for part in parts if part.value != 0]
            return kept[0] if len(kept) == 1 else found
    return found


def _moved_by(term: Term) -> int | None:
    return term.args[1].value if len(term.args) == 2 else None  # a binary operator


def inside(roots: Iterable[Term], stops: Collection[Term]) -> set[Term]:
    """What the roots are computed from, themselves included, without what lies at or below `stops`;
    variables and constants are left out."""
    found: set[Term] = set()
    pending = list(roots)
    while pending:
        term = pending.pop()
        if term.args and term not in found and term not in stops:
            found.add(term)
            pending.extend(term.args)
    return found
