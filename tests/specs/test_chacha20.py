"""The ChaCha20 specification against published vectors, an established library and itself."""

import json
import struct
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import z3
from Crypto.Cipher import ChaCha20
from hypothesis import given, settings
from hypothesis import strategies as st

from specs import chacha20
from specs.chacha20 import INTS
from specs.z3words import z3_words

VECTORS = Path(chacha20.__file__).parent / "vectors"

type Check = Callable[[], None]


@cache
def load(name: str) -> dict[str, Any]:
    contents: dict[str, Any] = json.loads((VECTORS / name).read_text())
    return contents


def words(numbers: list[str]) -> tuple[int, ...]:
    return tuple(int(number, 16) for number in numbers)


def key_words(key: str) -> tuple[int, ...]:
    return struct.unpack("<8I", bytes.fromhex(key))


def check_words(vector: dict[str, Any]) -> None:
    a, b, c, d = words(vector["input"])
    assert chacha20.quarter_round(INTS, a, b, c, d) == words(vector["output"])


def check_state(vector: dict[str, Any]) -> None:
    x, y, z, w = vector["indices"]
    state = chacha20.quarter_round_at(INTS, words(vector["input"]), (x, y, z, w))
    assert state == words(vector["output"])


def check_block(vector: dict[str, Any]) -> None:
    """Check every stage that the vector gives; with a zero nonce it is one of `block` too."""
    key = key_words(vector["key"])
    *counter, nonce_low, nonce_high = words(vector["words_12_to_15"])
    low, high = counter
    initial = (*chacha20.initial_state(INTS, key, low, high)[:14], nonce_low, nonce_high)
    if "initial" in vector:
        assert initial == words(vector["initial"])
    if "after_rounds" in vector:
        assert chacha20.rounds(INTS, initial) == words(vector["after_rounds"])
    output = chacha20.block_from(INTS, initial)
    assert output == words(vector["output"])
    if "serialized" in vector:
        assert chacha20.serialize(output).hex() == vector["serialized"]
    if nonce_low == nonce_high == 0:
        assert chacha20.block(INTS, key, low, high) == words(vector["output"])


def check_stream(vector: dict[str, Any]) -> None:
    keystream = bytes.fromhex(vector["keystream"])
    counter = int(vector["counter"], 16)
    assert chacha20.stream(key_words(vector["key"]), counter, len(keystream) // 64) == keystream


def checks() -> Iterator[tuple[str, Check]]:
    stages = (
        ("quarter_round.json", "words", check_words),
        ("quarter_round.json", "states", check_state),
        ("block.json", "blocks", check_block),
        ("stream.json", "streams", check_stream),
    )
    for name, stage, check in stages:
        for vector in load(name)[stage]:
            yield vector["source"], partial(check, vector)


CHECKS = dict(checks())


@pytest.mark.parametrize("source", CHECKS)
def test_published_vector(source: str) -> None:
    CHECKS[source]()


def fails_a_vector() -> bool:
    for check in CHECKS.values():
        try:
            check()
        except AssertionError:
            return True
    return False


def replaced[T](items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def wrong_rotations() -> Iterator[tuple[int, ...]]:
    for step, right in enumerate(chacha20.ROTATIONS):
        for amount in range(1, 32):
            if amount != right:
                yield replaced(chacha20.ROTATIONS, step, amount)


def wrong_indices() -> Iterator[tuple[tuple[int, ...], ...]]:
    for number, indices in enumerate(chacha20.QUARTER_ROUNDS):
        for position, right in enumerate(indices):
            for index in range(chacha20.STATE_WORDS):
                if index != right:
                    wrong = replaced(indices, position, index)
                    yield replaced(chacha20.QUARTER_ROUNDS, number, wrong)


def wrong_constants() -> Iterator[tuple[int, ...]]:
    for word, right in enumerate(chacha20.CONSTANTS):
        for bit in range(32):
            yield replaced(chacha20.CONSTANTS, word, right ^ 1 << bit)


def wrong_round_counts() -> Iterator[int]:
    yield from (2, 8, 12, 18, 22)


@pytest.mark.parametrize(
    ("table", "faults"),
    [
        ("ROTATIONS", wrong_rotations),
        ("QUARTER_ROUNDS", wrong_indices),
        ("CONSTANTS", wrong_constants),
        ("ROUNDS", wrong_round_counts),
    ],
)
def test_every_single_fault_fails_a_vector(
    table: str, faults: Callable[[], Iterator[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    survivors = []
    for fault in faults():
        with monkeypatch.context() as patch:
            patch.setattr(chacha20, table, fault)
            if not fails_a_vector():
                survivors.append(fault)
    assert not survivors
    assert not fails_a_vector()


word = st.integers(0, 2**32 - 1)
key = st.tuples(*[word] * 8)
counter = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(2**32 - 4, 2**32 + 4),
    st.integers(2**64 - 4, 2**64 - 1),
)


def library_stream(key: tuple[int, ...], counter: int, nblocks: int) -> bytes:
    """Return PyCryptodome's keystream, begun anew at counter 0 where the library would end it."""
    before_wrap = min(nblocks, 2**64 - counter)
    cipher = ChaCha20.new(key=struct.pack("<8I", *key), nonce=bytes(8))
    cipher.seek(64 * counter)
    keystream = cipher.encrypt(bytes(64 * before_wrap))
    cipher.seek(0)
    return keystream + cipher.encrypt(bytes(64 * (nblocks - before_wrap)))


@given(key, counter, st.integers(1, 6))
def test_stream_equals_the_library(key: tuple[int, ...], counter: int, nblocks: int) -> None:
    assert chacha20.stream(key, counter, nblocks) == library_stream(key, counter, nblocks)


def test_counter_wraps_modulo_2_to_the_64() -> None:
    key = tuple(range(8))
    last, first = chacha20.stream(key, 2**64 - 1, 1), chacha20.stream(key, 0, 1)
    assert chacha20.stream(key, 2**64 - 1, 2) == last + first


@given(key, counter)
def test_trace_ends_at_the_state_before_the_feed_forward(
    key: tuple[int, ...], counter: int
) -> None:
    high, low = divmod(counter, 2**32)
    initial = chacha20.initial_state(INTS, key, low, high)
    states = chacha20.trace(INTS, key, low, high)
    assert len(states) == 80
    assert states[-1] == chacha20.rounds(INTS, initial)
    assert states[7] == chacha20.double_round(INTS, initial)
    assert chacha20.feed_forward(INTS, initial, states[-1]) == chacha20.block(INTS, key, low, high)


INPUTS = [z3.BitVec(f"input{i}", 32) for i in range(10)]
Z3 = z3_words()
Z3_BLOCK = chacha20.block(Z3, INPUTS[:8], INPUTS[8], INPUTS[9])
Z3_TRACE = chacha20.trace(Z3, INPUTS[:8], INPUTS[8], INPUTS[9])


def evaluated(terms: tuple[z3.BitVecRef, ...], inputs: tuple[int, ...]) -> tuple[int, ...]:
    values = [(term, z3.BitVecVal(value, 32)) for term, value in zip(INPUTS, inputs, strict=True)]
    return tuple(z3.simplify(z3.substitute(term, *values)).as_long() for term in terms)


@settings(max_examples=20)
@given(st.tuples(*[word] * 10))
def test_z3_terms_evaluate_to_the_integers(inputs: tuple[int, ...]) -> None:
    *key, low, high = inputs
    assert evaluated(Z3_BLOCK, inputs) == chacha20.block(INTS, key, low, high)
    trace = chacha20.trace(INTS, key, low, high)
    for number in (0, 7, 79):
        assert evaluated(Z3_TRACE[number], inputs) == trace[number]


def test_z3_terms_print_as_standard_smt_lib() -> None:
    solver = z3.Solver()
    solver.add(chacha20.double_round(Z3, Z3_TRACE[7])[0] == 0)
    text = solver.to_smt2()
    assert "(_ rotate_left 16)" in text
    assert "ext_rotate" not in text


def test_key_of_wrong_length_is_an_error() -> None:
    with pytest.raises(ValueError, match="8 words, not 7"):
        chacha20.initial_state(INTS, (0,) * 7, 0, 0)
