"""The getrandom specification on calls worked out by hand, and what it says of bad inputs."""

import json
from pathlib import Path

import pytest

from specs import chacha20
from specs.getrandom import getrandom
from specs.getrandom_contract import (
    ARGUMENTS,
    DATA_PAGE_REGIONS,
    STATE_REGIONS,
    STEERING,
    keeps_promise,
)
from specs.getrandom_world import (
    Answer,
    Barrier,
    Call,
    Load,
    Outcome,
    Place,
    Port,
    Script,
    Store,
    SystemCall,
    buffer_after,
)
from specs.opaque_state import STATE_BYTES, ByteOrder, State, decode, encode, zeroed
from specs.values import INT_VALUES

LITTLE = Port(bits=64, byte_order="little", page_bytes=4096)
BIG = Port(bits=32, byte_order="big", page_bytes=65536)
BLOCKS = {
    vector["source"]: vector
    for vector in json.loads(
        (Path(chacha20.__file__).parent / "vectors" / "block.json").read_text()
    )["blocks"]
}


def called(port: Port, length: int, state: State[int], *answers: Answer[int]) -> Outcome[int]:
    call = Call(buffer=0x5000, len=length, flags=0, opaque_state=0x1000, opaque_len=144)
    world = Script(is_ready=[1], generations=[7], answers=answers)
    return getrandom(INT_VALUES, port, call, state, world)


def block(source: str) -> bytes:
    return chacha20.serialize([int(word, 16) for word in BLOCKS[source]["output"]])


@pytest.mark.parametrize("port", [LITTLE, BIG], ids=["little-endian", "big-endian"])
def test_bytes_of_rfc_8439_under_a_key_of_zeros(port: Port) -> None:
    """A block goes into the buffer; the batch begins with the next one, RFC 8439 A.1, 1 and 2."""
    outcome = called(port, 100, zeroed(INT_VALUES), Answer(32, (0,) * 32))
    first, second = (
        block("RFC 8439 appendix A.1, test vector 1"),
        block("RFC 8439 appendix A.1, test vector 2"),
    )
    assert buffer_after(bytes(100), outcome.writes) == first + second[:36]
    assert bytes(outcome.state.batch[:64]) == bytes(36) + second[36:]
    assert (outcome.state.pos, outcome.state.generation, outcome.state.in_use) == (36, 7, 0)


@pytest.mark.parametrize(("port", "place"), [(LITTLE, 31), (BIG, 28)])
def test_key_words_have_the_byte_order_of_the_machine(port: Port, place: int) -> None:
    """The key of RFC 8439 A.1, 3 has 1 in its last byte: in the highest one of a word."""
    key = tuple(int(number == place) for number in range(32))
    outcome = called(port, 65, zeroed(INT_VALUES), Answer(32, key))
    expected = block("RFC 8439 appendix A.1, test vector 3")
    assert buffer_after(bytes(65), outcome.writes)[64:] == expected[:1]
    assert bytes(outcome.state.batch[1:64]) == expected[1:]


@pytest.mark.parametrize("byte_order", ["little", "big"])
def test_memory_of_a_state(byte_order: ByteOrder) -> None:
    memory = bytes(range(128)) + (7).to_bytes(8, byte_order) + b"\x60\x01" + b"\xa0" * 6
    state = decode(memory, byte_order)
    assert state.batch == tuple(range(96))
    assert state.key == tuple(range(96, 128))
    assert (state.generation, state.pos, state.in_use) == (7, 96, 1)
    assert encode(state, byte_order) == memory
    assert encode(zeroed(INT_VALUES), byte_order) == bytes(144)


def test_accesses_of_a_call_that_takes_a_new_key() -> None:
    outcome = called(LITTLE, 8, zeroed(INT_VALUES), Answer(32, tuple(range(32))))
    order = [event for event in outcome.events if not of_bytes(event)]
    assert order == [
        Load(Place.IS_READY),
        Load(Place.IN_USE),
        Store(Place.IN_USE, 1),
        Load(Place.CURRENT_GENERATION),
        Load(Place.GENERATION),
        Store(Place.GENERATION, 7),
        Barrier(),
        SystemCall(0x1060, 32, 0),
        Barrier(),
        Load(Place.GENERATION),
        Load(Place.CURRENT_GENERATION),
        Store(Place.IN_USE, 0),
    ]


def of_bytes(event: object) -> bool:
    places = (Place.BATCH, Place.KEY, Place.POS, Place.BUFFER)
    return isinstance(event, Load | Store) and event.place in places


def test_bytes_of_the_first_attempt_stay_behind_a_fallback_that_fails() -> None:
    """The buffer is the caller's only as far as the return value says."""
    state = called(LITTLE, 40, zeroed(INT_VALUES), Answer(32, tuple(range(32)))).state
    call = Call(buffer=0x5000, len=8, flags=0, opaque_state=0x1000, opaque_len=144)
    world = Script([1], [7, 8, 8, 9], [Answer(32, tuple(range(32, 64))), Answer(-4, ())])
    outcome = getrandom(INT_VALUES, LITTLE, call, state, world)
    assert outcome.result == -4
    assert outcome.system_calls == (SystemCall(0x1060, 32, 0), SystemCall(0x5000, 8, 0))
    words = chacha20.stream([0x23222120 + 0x04040404 * i for i in range(8)], 0, 1)
    assert buffer_after(bytes(8), outcome.writes) == words[:8]
    assert (outcome.state.generation, outcome.state.in_use, outcome.state.pos) == (8, 0, 8)


def test_pos_that_no_call_leaves_is_an_error() -> None:
    state = decode(bytes(128) + (7).to_bytes(8, "little") + bytes((97,)) + bytes(7), "little")
    with pytest.raises(ValueError, match="pos is at most 96"):
        called(LITTLE, 8, state)


def test_state_of_wrong_size_is_an_error() -> None:
    with pytest.raises(ValueError, match="144 bytes, not 143"):
        decode(bytes(143), "little")


def test_script_without_an_answer_is_an_error() -> None:
    with pytest.raises(ValueError, match="no answer to SystemCall"):
        called(LITTLE, 8, zeroed(INT_VALUES))


@pytest.mark.parametrize(
    ("result", "written", "kept"),
    [
        (32, 32, True),
        (31, 31, True),
        (31, 32, True),
        (0, 0, True),
        (-4, 0, True),
        (-14, 32, True),
        (-4095, 0, True),
        (-4096, 0, False),
        (32, 31, False),
        (33, 33, False),
        (-14, 33, False),
    ],
)
def test_answers_that_the_kernel_may_give(result: int, written: int, kept: bool) -> None:
    assert keeps_promise(SystemCall(0x1060, 32, 0), Answer(result, (0,) * written)) == kept


def test_regions_of_the_contract_cover_the_state() -> None:
    end = 0
    for offset, region in STATE_REGIONS.items():
        assert offset == end
        assert region.size is not None
        end += region.size
    assert end == STATE_BYTES
    names = [region.name for region in (*STATE_REGIONS.values(), *DATA_PAGE_REGIONS.values())]
    assert len(set(names)) == len(names)
    secret = {region.name for region in STATE_REGIONS.values() if region.secret}
    assert secret == {"batch", "state key"}
    assert not secret & set(STEERING)
    assert set(ARGUMENTS) <= set(STEERING)
