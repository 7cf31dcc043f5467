"""Where the state is said to be, and what it is said to hold, is so when the real bytes run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from specs import chacha20
from tests.proving import segments_of_program, target_of
from verify.prove.correspondence import specified_block
from verify.prove.deviation import Call, Deviation, first_deviation
from verify.prove.place import operation
from verify.prove.setting import Variables, high_word, low_word
from verify.witness import Execution, Inputs, search, stopped_before

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
COUNTER = 0x1234_FFFF_FFFE
FAULTS = {
    "loongarch64/wrong-rotation": (1, 1, 4, "rotation by 7"),
    "powerpc64le/wrong-rotation": (1, 1, 4, "rotation by 7"),
    "loongarch64/swapped-operands": (2, 4, 3, "sum"),
    "powerpc64le/swapped-operands": (2, 4, 3, "sum"),
    "loongarch64/one-double-round-fewer": (19, 1, 0, "sum"),
    "powerpc64le/last-round-differs": (20, 1, 0, "sum"),
    "powerpc64le/missing-feed-forward": (0, 0, 9, "sum with the initial state"),
}


def deviation(name: str) -> tuple[Deviation, Inputs]:
    """The first deviation of a fault with a key and a counter that are unlike others."""
    target = target_of(f"faults/{name}.so")
    inputs = Inputs(KEY, COUNTER, 3)
    (breach,) = [b for b in search(target, [inputs]) if b.property == "output"]
    assert breach.block is not None and breach.word is not None
    found = first_deviation(
        segments_of_program(f"faults/{name}.so"),
        Call(KEY, COUNTER, 3),
        breach.block,
        breach.word,
    )
    assert found is not None
    return found, inputs


def held(execution: Execution, place: str) -> int:
    """The 32-bit word in a register, in a part of one, or on the stack."""
    architecture = execution.target.architecture
    if place.startswith(("sp+", "sp-")):
        data = execution.memory("stack", int(place.removeprefix("sp")), 4)
        return int.from_bytes(data, architecture.byte_order)
    if place.startswith("key+"):
        data = execution.memory("key", int(place.removeprefix("key+")), 4)
        return int.from_bytes(data, architecture.byte_order)
    name, _, bits = place.partition("[")
    low = int(bits.rstrip("]").split(":")[1]) if bits else 0
    return execution.register(name) >> low & 0xFFFF_FFFF


@pytest.mark.parametrize("name", FAULTS)
def test_the_state_is_there_when_the_real_bytes_run(name: str) -> None:
    found, inputs = deviation(name)
    departure = found.departure
    stopped = stopped_before(
        target_of(f"faults/{name}.so"), inputs, found.instruction, departure.visit
    )
    assert stopped is not None
    assert [word.word for word in departure.state] == list(range(16))
    for word in departure.state:
        for place in word.held_in:
            assert held(stopped, place) == word.value, (word, place)
    assert sum(bool(word.held_in) for word in departure.state) >= 13


@pytest.mark.parametrize("name", FAULTS)
def test_operation(name: str) -> None:
    found, _ = deviation(name)
    at = found.departure
    assert (at.round, at.quarter_round, at.word, at.operation) == FAULTS[name]


def recorded(words: Mapping[str, int]) -> list[int]:
    """The results of all operations of a block, in order, from the specification on numbers."""
    results: list[int] = []

    class Recording(chacha20.IntWords):
        def add(self, a: int, b: int, /) -> int:
            results.append(super().add(a, b))
            return results[-1]

        def xor(self, a: int, b: int, /) -> int:
            results.append(super().xor(a, b))
            return results[-1]

        def rotl(self, a: int, amount: int, /) -> int:
            results.append(super().rotl(a, amount))
            return results[-1]

    chacha20.block(Recording(), KEY, words["low"], words["high"])
    return results


def test_operations_are_numbered_as_the_specification_carries_them_out() -> None:
    names = Variables(64)
    specified = specified_block(names.key, low_word(names.count), high_word(names.count))
    results = recorded({"low": 7, "high": 9})
    assert len(specified.operations) == len(results) == 80 * 12 + 16
    states = chacha20.trace(chacha20.INTS, KEY, 7, 9)
    for quarter, state in enumerate(states):
        last: dict[int, int] = {}
        for step in range(12):
            made = operation(specified, 12 * quarter + step)
            assert (made.round, made.quarter_round) == (quarter // 4 + 1, quarter % 4 + 1)
            last[made.word] = results[12 * quarter + step]
        assert {word: state[word] for word in last} == last
        assert len(last) == 4
    behind = [replace(operation(specified, 960 + n), number=0) for n in range(16)]
    assert [(one.round, one.quarter_round, one.word) for one in behind] == [
        (0, 0, n) for n in range(16)
    ]
