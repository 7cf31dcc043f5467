"""What pictures are drawn from agrees with what QEMU executes."""

from __future__ import annotations

import pytest

from specs import chacha20
from tests.proving import segments_of_program, target_of
from verify.prove.deviation import Call
from verify.prove.follow import flow, operations, segment_of, state_after, store_of, writes
from verify.prove.recover import recover
from verify.prove.setting import register_value
from verify.witness import Inputs, execute

KEY = (
    0x11111111,
    0x22222223,
    0x44444447,
    0x8888888F,
    0x10203040,
    0x50607080,
    0x90A0B0C0,
    0xD0E0F001,
)
CALL = Call(KEY, 0x1234_FFFF_FFFE, 1)
INPUTS = Inputs(KEY, CALL.counter, 1)
PROGRAMS = ["loongarch64/looped.so", "powerpc64le/unrolled.so", "powerpc64le/looped.so"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_good_code_makes_every_word(name: str) -> None:
    made = operations(segments_of_program(name), CALL, 0)
    assert len(made) == 976
    assert all(one.made for one in made)
    last = chacha20.block(chacha20.INTS, KEY, 0xFFFF_FFFE, 0x1234)
    assert tuple(one.value for one in made[-16:]) == last


def test_nothing_is_made_behind_a_wrong_rotation() -> None:
    made = operations(segments_of_program("faults/powerpc64le/wrong-rotation.so"), CALL, 0)
    first = next(number for number, one in enumerate(made) if not one.made)
    assert (made[first].operation.round, made[first].operation.word) == (1, 4)
    assert not any(one.made for one in made[48:])


@pytest.mark.parametrize("name", PROGRAMS)
def test_writes_are_those_that_change_memory(name: str) -> None:
    found = writes(segments_of_program(name), CALL)
    (done,) = execute(target_of(name), [INPUTS])
    covered = {
        (one.region, byte) for one in found for byte in range(one.offset, one.offset + one.size)
    }
    for region, size in (("dst", 64), ("counter", 8)):
        assert {byte for known, byte in covered if known == region} == set(range(size))
    for offset in range(-400, 64):
        changed = done.memory("stack", offset, 1) != done.initial_memory("stack", offset, 1)
        assert not changed or ("stack", offset) in covered
    assert [one.step for one in found] == sorted(one.step for one in found)
    assert {one.dirty for one in found if one.region == "dst"} == {True}
    assert {one.dirty for one in found if one.region != "dst"} == {False}


@pytest.mark.parametrize("name", PROGRAMS)
def test_state_after_a_round(name: str) -> None:
    words = state_after(segments_of_program(name), CALL, 47)
    states = chacha20.trace(chacha20.INTS, KEY, 0xFFFF_FFFE, 0x1234)
    assert [one.word for one in words] == list(range(16))
    assert all(one.held_in for one in words)
    # Code that is ahead has some words of the next round already.
    same = sum(one.value == states[3][one.word] for one in words)
    assert same >= 12


RESIDUES = {"loongarch64/few-bits-left": "a6", "powerpc64le/few-bits-left": "r10"}


@pytest.mark.parametrize("name", RESIDUES)
def test_bits_are_recovered(name: str) -> None:
    file = f"faults/{name}.so"
    segments, target = segments_of_program(file), target_of(file)
    segment = segment_of(segments, CALL, 0)
    (done,) = execute(target, [INPUTS])
    data = done.memory("dst", 0, 64)
    block = [int.from_bytes(data[at : at + 4], "little") for at in range(0, 64, 4)]
    name = RESIDUES[name]
    value = register_value(segment.machine, segments.engine, target.architecture, name)
    (one,) = recover(segments, segment, value, done.register(name), block, CALL.counter)
    assert (one.word, one.mask, one.error) == (7, 0xFE00_0000, 25)
    assert one.value & one.mask == KEY[7] & one.mask


def test_nothing_is_recovered_from_values_that_no_key_gives() -> None:
    file = "faults/loongarch64/few-bits-left.so"
    segments = segments_of_program(file)
    segment = segment_of(segments, CALL, 0)
    architecture = segments.target.architecture
    value = register_value(segment.machine, segments.engine, architecture, "a6")
    assert recover(segments, segment, value, 0xFFFF, [0] * 16, CALL.counter) == []


def test_flow_from_the_key_to_the_stack() -> None:
    segments = segments_of_program("faults/powerpc64le/key-word-on-stack.so")
    segment, access = store_of(segments, CALL, 0x3C8)
    nodes = flow(segments, segment, CALL, access.value, "there", 10)
    assert [node.text for node in nodes] == ["key word 2", "", "there"]
    assert nodes[1].value == KEY[2]
    assert [node.takes for node in nodes] == [(), (0,), (1,)]
    with pytest.raises(LookupError, match="no store at 0x1"):
        store_of(segments, CALL, 1)


def test_flow_goes_forwards_and_is_bounded() -> None:
    segments = segments_of_program("faults/loongarch64/register-not-wiped.so")
    segment = segment_of(segments, CALL, 0)
    architecture = segments.target.architecture
    value = register_value(segment.machine, segments.engine, architecture, "t2")
    nodes = flow(segments, segment, CALL, value, "t2", 10)
    assert sum(node.instruction is not None for node in nodes) == 10
    assert any(node.text == "earlier operations" for node in nodes)
    assert all(source < number for number, node in enumerate(nodes) for source in node.takes)
    assert nodes[-2].value == done_register("t2")


def done_register(name: str) -> int:
    (done,) = execute(target_of("faults/loongarch64/register-not-wiped.so"), [INPUTS])
    return done.register(name)
