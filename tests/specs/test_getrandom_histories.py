"""The getrandom specification on random histories of a state."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specs.getrandom_world import Port
from tests.specs.getrandom_checks import agrees_with_model, gives_bytes_once, keeps_order
from tests.specs.getrandom_histories import NAMED, PORTS, UNRULY, Step, exact, unruly


@pytest.mark.parametrize("name", NAMED)
def test_named_history_equals_the_model(name: str) -> None:
    for port in PORTS:
        agrees_with_model(port, NAMED[name])


@pytest.mark.parametrize("port", [PORTS[0], PORTS[-1]], ids=["little-endian", "big-endian"])
def test_promises_are_kept_whatever_happens_once_in_a_call(port: Port) -> None:
    for history in UNRULY.values():
        gives_bytes_once(port, history)
        keeps_order(port, history)


@pytest.mark.parametrize(
    ("length", "drop", "handler", "damage"),
    [
        (150, 4, 6, "under a key of zeros"),
        (30, 4, 8, "of no key stream"),
        (150, 2, 9, "given out twice"),
    ],
)
def test_a_drop_hides_from_the_last_check_behind_a_handler(
    length: int, drop: int, handler: int, damage: str
) -> None:
    """Zeroing the state clears in_use, so a handler gets it, and gives it a current generation."""
    disturbed = Step(length, meanwhile=((drop, "drop"), (handler, "handler")))
    with pytest.raises(AssertionError, match=damage):
        gives_bytes_once(PORTS[0], (Step(40), disturbed))


@settings(max_examples=100)
@given(st.sampled_from(PORTS), exact)
def test_equals_the_model(port: Port, history: Sequence[Step]) -> None:
    agrees_with_model(port, history)


@settings(max_examples=100)
@given(st.sampled_from(PORTS), unruly)
def test_gives_bytes_once(port: Port, history: Sequence[Step]) -> None:
    gives_bytes_once(port, history)
    keeps_order(port, history)


@pytest.mark.long
@settings(max_examples=20_000)
@given(st.sampled_from(PORTS), exact)
def test_equals_the_model_on_many_histories(port: Port, history: Sequence[Step]) -> None:
    agrees_with_model(port, history)


@pytest.mark.long
@settings(max_examples=20_000)
@given(st.sampled_from(PORTS), unruly)
def test_gives_bytes_once_in_many_histories(port: Port, history: Sequence[Step]) -> None:
    gives_bytes_once(port, history)
    keeps_order(port, history)
