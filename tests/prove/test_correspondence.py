"""Words of the code are found and proved to be the specification's, or not believed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specs import chacha20
from tests.proving import PROGRAMS, segments_of_program, target_of
from tests.terms.recipes import assignments, expressions
from verify.decide import Answer, check, valid
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.terms import (
    Term,
    add,
    concat,
    conjunction,
    const,
    equal,
    evaluate,
    extract,
    iff_else,
    negate,
    rotate_left,
    sign_extend,
    var,
    variables,
    zero_extend,
)
from verify.terms.term import binary, substitute
from verify.verdict import Verdict

import_angr()

from verify.properties import output  # noqa: E402
from verify.prove.correspondence import (  # noqa: E402
    Pair,
    SpecificationWords,
    Specified,
    correspond,
    shape,
    specified_block,
    zero_bits,
)
from verify.run import prove  # noqa: E402

KEY = tuple(var(f"k{n}", 32) for n in range(8))
LOW, HIGH = var("low", 32), var("high", 32)
OPERATIONS_OF_A_BLOCK = 976
"""80 quarter rounds of 12 operations, and 16 sums; the sums of zero and zero are constants."""


def proved_by(pairs: Sequence[Pair]) -> bool:
    return all(valid((), pair.formula).answer is Answer.UNSAT for pair in pairs)


def is_refuted(pairs: Sequence[Pair]) -> bool:
    return any(valid((), pair.formula).answer is Answer.SAT for pair in pairs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_few_formulas_say_it_all(name: str) -> None:
    """Every operation of the block is found, and most are the same but for names."""
    stated = output.state(segments_of_program(name))
    words = [o for o in stated.obligations if o.id.startswith("output/word")]
    assert len(words) <= 64
    instances = sum(obligation.instances for obligation in words)
    # A word may be in each of four lanes.
    assert OPERATIONS_OF_A_BLOCK - 16 <= instances <= 4 * OPERATIONS_OF_A_BLOCK
    assert not any(obligation.assumptions for obligation in words)
    assert stated.undecided == ()


def wrong_rotations(position: int) -> Callable[[pytest.MonkeyPatch], None]:
    def apply(patch: pytest.MonkeyPatch) -> None:
        rotations = list(chacha20.ROTATIONS)
        rotations[position] += 1
        patch.setattr(chacha20, "ROTATIONS", tuple(rotations))

    return apply


def wrong_constant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chacha20, "CONSTANTS", (*chacha20.CONSTANTS[:3], 0x6B206573))


def wrong_round(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chacha20, "QUARTER_ROUNDS", (*chacha20.QUARTER_ROUNDS[:7], (3, 4, 14, 9)))


def fewer_rounds(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chacha20, "ROUNDS", 18)


WRONG = {
    **{f"rotation{n}": wrong_rotations(n) for n in range(4)},
    "constant": wrong_constant,
    "order": wrong_round,
    "rounds": fewer_rounds,
}


@pytest.mark.parametrize("name", ["loongarch64/looped.so", "powerpc64le/unrolled.so"])
@pytest.mark.parametrize("wrong", WRONG)
def test_another_specification_is_not_proved(
    name: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRONG[wrong](monkeypatch)
    result = prove(target_of(name), Options(properties=("output",), replay=False))
    (one,) = result.properties
    assert one.verdict is Verdict.UNKNOWN
    assert "a counterexample candidate" in one.reason


def toy(words: SpecificationWords) -> list[Term]:
    """A small specification: one quarter round and a sum."""
    a, b, c, d = chacha20.quarter_round(words, KEY[0], KEY[1], LOW, KEY[2])
    return [words.add(a, b), words.xor(c, d), words.rotl(d, 5), b]


def specified() -> Specified:
    words = SpecificationWords()
    result = toy(words)
    return Specified(tuple(result), words.made, tuple(words.operations), tuple(words.kinds))


class Code(SpecificationWords):
    """The words of code that keeps each in a register of 64 bits, in a style of its own."""

    def __init__(self, style: Callable[[Term], Term]) -> None:
        super().__init__()
        self._style = style
        self.registers: dict[Term, str] = {}

    def _remember(self, term: Term, kind: str) -> Term:
        register = self._style(term)
        self.registers[register] = kind
        return extract(register, 31, 0)


def code(style: Callable[[Term], Term]) -> tuple[list[Term], list[Term]]:
    """The result of the code, and what it wrote to registers."""
    words = Code(style)
    return toy(words), list(words.registers)


STYLES: dict[str, Callable[[Term], Term]] = {
    "zero-extended": lambda word: zero_extend(word, 32),
    "sign-extended": lambda word: sign_extend(word, 32),
    "upper lane": lambda word: concat(word, extract(word, 15, 0), const(0, 16)),
    "as it is": lambda word: word,
    "complemented twice": lambda word: binary("bvxor", word, const(0, 32)),
    "with junk": lambda word: concat(var("junk", 32), word),
}


@pytest.mark.parametrize("style", sorted(set(STYLES) - {"upper lane"}))
def test_any_style_is_proved(style: str) -> None:
    actual, written = code(STYLES[style])
    pairs = list(correspond(actual, written, specified()).pairs)
    assert proved_by(pairs)
    assert {pair.word for pair in pairs} >= set(specified().words)
    assert [pair.kind for pair in pairs][-4:] == ["output"] * 4


def test_words_are_packed_into_one_register() -> None:
    first, second, *rest = map(STYLES["zero-extended"], specified().words)
    packed = binary("bvor", first, binary("bvshl", second, const(32, 64)))
    actual = [extract(packed, 31, 0), extract(packed, 63, 32)]
    actual += [extract(word, 31, 0) for word in rest]
    assert proved_by(correspond(actual, [first, second, *rest, packed], specified()).pairs)


def test_words_in_an_upper_lane_are_found() -> None:
    first, second, *rest = specified().words
    packed = binary("bvxor", concat(first, second), const(0, 64))
    actual = [extract(packed, 63, 32), extract(packed, 31, 0), *rest]
    pairs = list(correspond(actual, [packed], specified()).pairs)
    assert proved_by(pairs)
    assert {(pair.word, pair.term) for pair in pairs} >= {(first, packed), (second, packed)}


@pytest.mark.parametrize("style", ["zero-extended", "as it is", "with junk"])
@given(st.integers(0, 12), st.integers(0, 31))
def test_what_random_values_do_not_show_is_not_believed(style: str, place: int, bit: int) -> None:
    """One word has one wrong bit for one key: the samples agree, the formulas do not."""
    seen = 0

    def faulty(word: Term) -> Term:
        nonlocal seen
        seen += 1
        if seen == place + 1:
            rare = equal(KEY[0], const(0xDEADBEEF, 32))
            word = iff_else(rare, binary("bvxor", word, const(1 << bit, 32)), word)
        return STYLES[style](word)

    actual, written = code(faulty)
    pairs = list(correspond(actual, written, specified()).pairs)
    assert proved_by(pairs) == (place >= seen)
    assert is_refuted(pairs) == (place < seen)


@pytest.mark.parametrize("wrong", [False, True])
def test_a_word_that_is_computed_twice_is_proved_twice(wrong: bool) -> None:
    """The second time it has a wrong bit for one key, and that is what is used."""
    first = specified().words[3]
    rare = equal(KEY[0], const(0xDEADBEEF, 32))
    again = iff_else(rare, binary("bvxor", first, const(int(wrong), 32)), add(first, const(0, 32)))
    one, two = zero_extend(first, 32), sign_extend(again, 32)
    both = binary("bvand", one, two)
    actual = [*specified().words[:3], extract(both, 31, 0)]
    pairs = list(correspond(actual, [one, two, both], specified()).pairs)
    assert {pair.term for pair in pairs} >= {first, again}
    assert proved_by(pairs) == (not wrong)
    assert is_refuted(pairs) == wrong


def test_the_pairs_together_prove_the_whole() -> None:
    """On a small specification, where a solver can also decide it at once."""
    actual, written = code(STYLES["sign-extended"])
    whole = conjunction(
        equal(word, term) for word, term in zip(specified().words, actual, strict=True)
    )
    assert check([negate(whole)]).answer is Answer.UNSAT
    assert proved_by(correspond(actual, written, specified()).pairs)
    actual[1] = add(actual[1], const(1, 32))
    assert is_refuted(correspond(actual, written, specified()).pairs)


def test_without_registers_to_match_the_outputs_are_compared_as_they_are() -> None:
    actual, _ = code(STYLES["as it is"])
    pairs = list(correspond(actual, [], specified()).pairs)
    assert [pair.kind for pair in pairs] == ["output"] * 4
    assert proved_by(pairs)


def test_the_specification_of_a_block_is_the_one_of_specs() -> None:
    block = specified_block(KEY, LOW, HIGH)
    values = {**{k: 0x01020304 * (n + 1) for n, k in enumerate(KEY)}, LOW: 7, HIGH: 9}
    constants = {v: const(value, 32) for v, value in values.items()}
    found = [term.value for term in substitute(block.words, constants)]
    key = [values[k] for k in KEY]
    assert found == list(chacha20.block(chacha20.INTS, key, 7, 9))
    assert len(block.made) == OPERATIONS_OF_A_BLOCK
    kinds = set(block.made.values())
    assert kinds == {"sum", "exclusive or", *(f"rotation by {n}" for n in chacha20.ROTATIONS)}


A, B = var("a", 32), var("b", 32)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (add(A, B), add(LOW, HIGH), True),
        (add(A, B), add(B, A), True),
        (add(A, A), add(A, B), False),
        (add(A, const(1, 32)), add(B, const(1, 32)), True),
        (add(A, const(1, 32)), add(A, const(2, 32)), False),
        (rotate_left(A, 7), rotate_left(B, 7), True),
        (rotate_left(A, 7), rotate_left(A, 8), False),
        (extract(A, 7, 0), extract(A, 8, 1), False),
        (zero_extend(A, 32), sign_extend(A, 32), False),
        (add(A, B), binary("bvsub", A, B), False),
        (var("x", 8), var("x", 9), False),
        (equal(add(A, B), A), equal(add(A, B), B), False),
    ],
    ids=repr,
)
def test_shape_forgets_names_and_nothing_else(one: Term, two: Term, same: bool) -> None:
    assert (shape(one) == shape(two)) == same


X = var("x", 64)
LOWER = const(2**32 - 1, 64)


@pytest.mark.parametrize(
    ("term", "zeros"),
    [
        (X, 0),
        (const(5, 64), 2**64 - 6),
        (zero_extend(A, 32), 2**64 - 2**32),
        (binary("bvand", X, LOWER), 2**64 - 2**32),
        (binary("bvshl", X, const(32, 64)), 2**32 - 1),
        (binary("bvlshr", X, const(40, 64)), 2**64 - 2**24),
        (binary("bvshl", X, const(64, 64)), 2**64 - 1),
        (binary("bvor", zero_extend(A, 32), binary("bvand", X, LOWER)), 2**64 - 2**32),
    ],
    ids=repr,
)
def test_bits_that_are_zero(term: Term, zeros: int) -> None:
    assert zero_bits(term) == zeros


@given(data=st.data())
def test_bits_said_to_be_zero_are(data: st.DataObject) -> None:
    term = data.draw(expressions()).term
    values = data.draw(assignments(variables((term,))))
    assert not evaluate((term,), values)[term] & zero_bits(term)


def test_words_joined_by_a_shift_are_both_found() -> None:
    """The lane below a word that was shifted up is zero, not unknown."""
    words = SpecificationWords()
    low, high = words.xor(A, B), words.add(A, B)
    upper = binary("bvshl", zero_extend(add(A, B), 32), const(32, 64))
    joined = binary("bvor", zero_extend(binary("bvxor", A, B), 32), upper)
    actual = [extract(joined, 31, 0), extract(joined, 63, 32)]
    pairs = correspond(actual, {upper, joined}, Specified((low, high), words.made, (), ())).pairs
    assert any(pair.term is upper for pair in pairs)
    assert proved_by(pairs)
