"""Correspondence between the code's terms and the specification's, found and then proved.

Both sides are graphs over the same variables. Each is evaluated on random values; where a 32-bit
lane of a term of the code has the value of an intermediate word of the specification, the two are
taken for the same word. Each such pair is an obligation of its own in which every pair below is
one shared fresh variable, so that a formula spans one operation instead of twenty rounds. The
obligations together prove the outermost pairs by induction over the graph.

Nothing depends on where the code keeps a word, or on its loops being unrolled or not.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from specs.chacha20 import block
from verify.terms import (
    Term,
    add,
    binary,
    concat,
    const,
    disjunction,
    equal,
    evaluate,
    extract,
    negate,
    postorder,
    rotate_left,
    var,
)
from verify.terms.term import rebuild

LANE = 32
_SAMPLES = 2


@dataclass
class SpecificationWords:
    """The word type of the specification that builds terms and remembers each one in order."""

    made: dict[Term, str] = field(default_factory=dict)
    operations: list[Term] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)

    def const(self, value: int, /) -> Term:
        """A constant word."""
        return const(value, LANE)

    def add(self, a: Term, b: Term, /) -> Term:
        """a + b modulo 2^32."""
        return self._remember(add(a, b), "sum")

    def xor(self, a: Term, b: Term, /) -> Term:
        """a xor b."""
        return self._remember(binary("bvxor", a, b), "exclusive or")

    def rotl(self, a: Term, amount: int, /) -> Term:
        """`a` rotated left."""
        return self._remember(rotate_left(a, amount), f"rotation by {amount}")

    def _remember(self, term: Term, kind: str) -> Term:
        self.operations.append(term)
        self.kinds.append(kind)
        if term.value is None:
            self.made.setdefault(term, kind)
        return term


@dataclass(frozen=True)
class Specified:
    """The specification of one block as terms: its 16 words, and every intermediate word with
    the kind of operation that made it, in order.

    `operations` has the result of every single operation, also where it is a constant or a word
    that there was before, and `kinds` its kind: 12 of each quarter round, then the 16 additions.
    """

    words: tuple[Term, ...]
    made: Mapping[Term, str]
    operations: tuple[Term, ...]
    kinds: tuple[str, ...]


def specified_block(key: Sequence[Term], low: Term, high: Term) -> Specified:
    """block(key, counter) of `specs.chacha20` on terms."""
    words = SpecificationWords()
    result = block(words, key, low, high)
    return Specified(tuple(result), words.made, tuple(words.operations), tuple(words.kinds))


@dataclass(frozen=True)
class Pair:
    """A word of the specification (or its output) and the code's term for it, both over the
    pairs below: `formula` says that they are equal."""

    word: Term
    kind: str
    term: Term
    formula: Term


@dataclass(frozen=True)
class Correspondence:
    """`matched` as `match` gives it; the pairs, those of the output last; and the variable that
    stands for each word in their formulas."""

    matched: Mapping[Term, Mapping[int, Term]]
    pairs: tuple[Pair, ...]
    names: Mapping[Term, Term]


def correspond(
    actual: Sequence[Term], written: Collection[Term], specified: Specified
) -> Correspondence:
    """The obligations that together prove that the actual 32-bit terms are the specified words.

    `actual` and `specified.words` are equally long. `written` are the terms that can be taken
    for a word: what the code wrote to a register or to memory. The last pairs are the output's.
    """
    matched = match(actual, written, specified)
    names: dict[Term, Term] = {}
    for words in matched.values():
        for word in words.values():
            names.setdefault(word, var(f"word{len(names)}", LANE))
    spec = Abstraction(names)
    code = Abstraction({})
    pairs: list[Pair] = []
    proved: set[Term] = set()
    for number, (term, words) in enumerate(matched.items()):
        body = code.inside(term)
        for low, word in words.items():
            lane = extract(body, low + LANE - 1, low)
            if word not in proved:
                formula = equal(spec.inside(word), lane)
            elif lane is names[word]:
                continue
            else:
                # The word is known by name already; its definition may be needed besides.
                definition = equal(names[word], spec.inside(word))
                formula = disjunction((negate(definition), equal(names[word], lane)))
            pairs.append(Pair(word, specified.made[word], term, formula))
        code.replace(term, cut(term, words, names, number))
        proved.update(words.values())
    for word, term in zip(specified.words, actual, strict=True):
        pairs.append(Pair(word, "output", term, equal(spec.outside(word), code.outside(term))))
    return Correspondence(matched, tuple(pairs), names)


def match(
    actual: Sequence[Term], written: Collection[Term], specified: Specified
) -> dict[Term, dict[int, Term]]:
    """Terms of the code that hold words of the specification: lowest bit of the lane to word.

    Topologically ordered, each term after those below it. A word that is extended by zeros is
    held by the word's own term, so that the zeros stay known.
    """
    candidates = {lane for term in written for lane in (term, *_lanes(term))}
    order = [
        term
        for term in postorder(actual)
        if term in candidates and term.args and term.op != "zero_extend"
    ]
    samples = [_sample([*actual, *specified.words], seed) for seed in range(_SAMPLES)]
    code = [evaluate(actual, sample) for sample in samples]
    spec = [evaluate(specified.words, sample) for sample in samples]
    words: dict[tuple[int, ...], Term] = {}
    for word in specified.made:
        words.setdefault(tuple(values[word] for values in spec), word)
    matched: dict[Term, dict[int, Term]] = {}
    for term in order:
        for low in range(0, term.width - LANE + 1, LANE):
            found = words.get(tuple((values[term] >> low) & 0xFFFF_FFFF for values in code))
            if found is not None:
                matched.setdefault(term, {})[low] = found
    return matched


def _lanes(term: Term) -> Iterator[Term]:
    """The 32-bit lanes of a wider term."""
    for low in range(0, term.width - LANE + 1, LANE):
        yield extract(term, low + LANE - 1, low)


def _sample(roots: Iterable[Term], seed: int) -> dict[Term, int]:
    generator = random.Random(seed)
    free = sorted((t for t in postorder(roots) if t.op == "var"), key=lambda t: t.name)
    return {term: generator.getrandbits(term.width) for term in free}


def cut(term: Term, words: Mapping[int, Term], names: Mapping[Term, Term], number: int) -> Term:
    """The term with its matched lanes replaced by the words' variables, the rest unknown but for
    lanes that are zero whatever it is made from."""
    zeros = zero_bits(term)
    parts: list[Term] = []
    low = 0
    while low < term.width:
        width = min(LANE, term.width - low)
        word = words.get(low)
        if word is not None:
            parts.append(names[word])
        elif all(zeros >> bit & 1 for bit in range(low, low + width)):
            parts.append(const(0, width))
        else:
            parts.append(var(f"rest{number}_{low}", width))
        low += width
    return concat(*reversed(parts))


def zero_bits(term: Term, depth: int = 4) -> int:
    """A mask of bits of a term that are zero for every assignment; perhaps not all that are."""
    everything = (1 << term.width) - 1
    if term.value is not None:
        return everything & ~term.value
    if not depth:
        return 0
    zeros = [zero_bits(arg, depth - 1) for arg in term.args]
    match term.op:
        case "zero_extend":
            inner = term.args[0].width
            return zeros[0] | everything & ~((1 << inner) - 1)
        case "bvand":
            return zeros[0] | zeros[1]
        case "bvor" | "bvxor":
            return zeros[0] & zeros[1]
        case "bvshl" | "bvlshr" if (amount := term.args[1].value) is not None:
            if amount >= term.width:
                return everything
            if term.op == "bvshl":
                return (zeros[0] << amount | (1 << amount) - 1) & everything
            return zeros[0] >> amount | everything & ~(everything >> amount)
        case _:
            return 0


class Abstraction:
    """Terms rewritten over the variables that stand for the pairs already made."""

    def __init__(self, replaced: Mapping[Term, Term]) -> None:
        self._replaced = dict(replaced)
        self._rebuilt: dict[Term, Term] = {}

    def replace(self, term: Term, by: Term) -> None:
        """From now on `term` is represented by `by`."""
        self._replaced[term] = by

    def outside(self, term: Term) -> Term:
        """How other terms see this one: its variable, or itself rewritten."""
        found = self._replaced.get(term)
        return found if found is not None else self.inside(term)

    def inside(self, term: Term) -> Term:
        """The term's own operator over its arguments as others see them."""
        stack = [(term, False)]
        while stack:
            current, ready = stack.pop()
            if current in self._rebuilt:
                continue
            if ready or not current.args:
                args = tuple(self.outside(arg) for arg in current.args)
                self._rebuilt[current] = rebuild(current, args) if args else current
            else:
                stack.append((current, True))
                stack.extend(
                    (arg, False)
                    for arg in current.args
                    if arg not in self._replaced and arg not in self._rebuilt
                )
        return self._rebuilt[term]


def shape(formula: Term) -> tuple[object, ...]:
    """Equal for formulas that differ only in the names of their variables."""
    numbers: dict[Term, int] = {}
    result: list[object] = []
    for term in postorder([formula]):
        data = numbers.setdefault(term, len(numbers)) if term.op == "var" else term.data
        numbers.setdefault(term, len(numbers))
        result.append((term.op, term.width, data, *(numbers[arg] for arg in term.args)))
    return tuple(result)
