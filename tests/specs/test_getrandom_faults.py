"""Each way to get getrandom wrong is noticed by the model, by its promises, or by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from specs import getrandom as spec
from specs.getrandom import Run
from specs.getrandom_world import Filled, Outcome, Port, SystemCall, Write
from tests.specs.getrandom_checks import agrees_with_model, gives_bytes_once, keeps_order
from tests.specs.getrandom_histories import NAMED, PORTS, UNRULY, Step, exact, unruly

RIGHT = {name: getattr(spec, name) for name in dir(spec)}
"""The specification's functions, for faults that are made of them."""


def generation_after_the_system_call(run: Run[int], current: int) -> bool:
    if not spec.request_key(run):
        run.store_generation(0)
        return False
    run.store_generation(current)
    run.store_pos(96)
    return True


def failed_reseed_keeps_the_generation(run: Run[int], current: int) -> bool:
    run.store_generation(current)
    run.barrier()
    if not spec.request_key(run):
        return False
    run.store_pos(96)
    return True


def pos_not_reset(run: Run[int], current: int) -> bool:
    run.store_generation(current)
    run.barrier()
    if not spec.request_key(run):
        run.store_generation(0)
        return False
    return True


def short_key_accepted(run: Run[int]) -> bool:
    RIGHT["request_key"](run)
    return True


def no_last_check(run: Run[int]) -> bool:
    run.load_generation()
    run.load_current_generation()
    return True


def last_check_of_a_copy() -> dict[str, object]:
    copies: list[int] = []

    def follow_generation(run: Run[int]) -> bool:
        current = run.load_current_generation()
        copies.append(current)
        return run.load_generation() == current or spec.reseed(run, current)

    def is_current(run: Run[int]) -> bool:
        run.load_generation()
        return run.load_current_generation() == copies[-1]

    return {"follow_generation": follow_generation, "is_current": is_current}


def released_before_serving(run: Run[int]) -> int:
    run.store_in_use(0)
    amount: int = RIGHT["serve"](run)
    return amount


def released_before_the_last_check(run: Run[int]) -> bool:
    run.store_in_use(0)
    return bool(RIGHT["is_current"](run))


def never_released(run: Run[int]) -> None:
    del run


def not_released_when_it_fails(run: Run[int]) -> None:
    if run.state.generation == run.environment.generation():
        RIGHT["release"](run)


def not_claimed(run: Run[int]) -> bool:
    return run.load_in_use() == 0


def claimed_by_two(run: Run[int]) -> bool:
    run.load_in_use()
    run.store_in_use(1)
    return True


def batch_not_erased(run: Run[int], given: int, amount: int) -> int:
    batch = run.state.batch
    result: int = RIGHT["take_from_batch"](run, given, amount)
    run.state = replace(run.state, batch=batch)
    return result


def last_byte_not_erased(run: Run[int], given: int, amount: int) -> int:
    batch = run.state.batch
    result: int = RIGHT["take_from_batch"](run, given, amount)
    if result > given:
        last = run.state.pos - 1
        kept = (*run.state.batch[:last], batch[last], *run.state.batch[last + 1 :])
        run.state = replace(run.state, batch=kept)
    return result


def counter_restarted(run: Run[int]) -> None:
    run.counter = 0
    RIGHT["refill"](run)


def key_kept(run: Run[int]) -> None:
    key = run.state.key
    RIGHT["refill"](run)
    run.state = replace(run.state, key=key)


def batch_counted_backwards(run: Run[int]) -> None:
    RIGHT["refill"](run)
    run.state = replace(run.state, batch=run.state.batch[::-1])


def key_read_in_the_other_order(run: Run[int]) -> tuple[int, ...]:
    words: tuple[int, ...] = RIGHT["key_words"](run)
    return tuple(int.from_bytes(word.to_bytes(4, "big"), "little") for word in words)


def fallback_with(*, advance: int = 0, capped: bool = False, flags: int = -1) -> object:
    def fallback(run: Run[int]) -> Outcome[int]:
        length = min(run.call.len, spec.most_bytes(run.port)) if capped else run.call.len
        call = SystemCall(
            run.call.buffer + (advance if run.writes else 0), length, run.call.flags & flags
        )
        run.events.append(call)
        answer = run.environment.system_call(call)
        run.writes.append(Write(0, Filled(answer.written)))
        return run.outcome(answer.result)

    return fallback


def readiness_after_length(run: Run[int]) -> bool:
    return run.call.len == 0 or bool(RIGHT["is_ready"](run))


def never(run: Run[int]) -> bool:
    del run
    return False


def always(run: Run[int]) -> bool:
    del run
    return True


def straddles_where_the_page_ends(run: Run[int]) -> bool:
    return run.call.opaque_state % run.port.page_bytes + 144 >= run.port.page_bytes


def query_whatever(**known: int) -> object:
    """Return `is_query` that takes some of the arguments for what they have to be."""

    def is_query(run: Run[int]) -> bool:
        call = replace(run.call, **known)
        return bool(RIGHT["is_query"](Run(run.values, run.port, call, run.state, run.environment)))

    return is_query


@dataclass(frozen=True)
class Fault:
    """What is put in place of what in the specification, and the history on which a check notices.

    `model`: the comparison with the model. `once`: each byte is returned once. `order`: that of
    accesses and system calls.
    """

    patches: Mapping[str, object]
    model: str = ""
    once: str = ""
    order: str = ""


FAULTS: dict[str, Fault] = {
    "generation stored after the system call": Fault(
        {"reseed": generation_after_the_system_call},
        once="drop at access 4 of a reseeding call",
        order="drop at access 0 of a call",
    ),
    "no last check": Fault(
        {"is_current": no_last_check},
        model="a reseed during a call",
        once="drop at access 3 of a call",
    ),
    "last check of a copy of the generation": Fault(
        last_check_of_a_copy(), once="drop at access 3 of a call"
    ),
    "in_use cleared before serving": Fault(
        {"serve": released_before_serving},
        once="handler at access 5 of a call",
        order="drop at access 0 of a call",
    ),
    "in_use cleared before the last check": Fault(
        {"is_current": released_before_the_last_check},
        once="handler at access 15 of a call with a reseed at its end",
        order="drop at access 0 of a call",
    ),
    "in_use never cleared": Fault(
        {"release": never_released},
        model="batches and blocks",
        order="drop at access 0 of a call",
    ),
    "in_use not cleared when the second attempt fails": Fault(
        {"release": not_released_when_it_fails},
        model="a reseed during each attempt",
        order="drop at access 0 of a call with reseeds at each read",
    ),
    "in_use not set": Fault(
        {"claim": not_claimed},
        once="handler at access 3 of a call",
        order="drop at access 0 of a call",
    ),
    "in_use not looked at": Fault(
        {"claim": claimed_by_two},
        model="interrupted calls",
        once="handler at access 4 of a call",
    ),
    "retry without limit": Fault(
        {"ATTEMPTS": 100},
        model="a reseed during each attempt",
        order="drop at access 0 of a call with reseeds at each read",
    ),
    "no retry": Fault({"ATTEMPTS": 1}, model="a reseed during a call"),
    "pos not reset": Fault(
        {"reseed": pos_not_reset},
        model="batches and blocks",
        once="drop at access 0 of a call",
    ),
    "batch not erased": Fault(
        {"take_from_batch": batch_not_erased},
        model="batches and blocks",
        once="drop at access 0 of a call",
    ),
    "last byte not erased": Fault(
        {"take_from_batch": last_byte_not_erased},
        model="batches and blocks",
        once="drop at access 0 of a call",
    ),
    "counter restarted for the refill": Fault(
        {"refill": counter_restarted},
        model="batches and blocks",
        once="drop at access 0 of a call",
    ),
    "key kept after a refill": Fault(
        {"refill": key_kept},
        model="batches and blocks",
        once="drop at access 0 of a call",
    ),
    "batch in another order": Fault(
        {"refill": batch_counted_backwards}, model="batches and blocks"
    ),
    "key words in the other byte order": Fault(
        {"key_words": key_read_in_the_other_order}, model="batches and blocks"
    ),
    "fallback with the advanced buffer": Fault(
        {"fallback": fallback_with(advance=64)}, model="a reseed during each attempt"
    ),
    "fallback with the capped length": Fault(
        {"fallback": fallback_with(capped=True)}, model="the longest"
    ),
    "fallback without flags": Fault({"fallback": fallback_with(flags=0)}, model="flags"),
    "length tested before readiness": Fault(
        {"is_ready": readiness_after_length}, model="no length"
    ),
    "readiness not looked at": Fault({"is_ready": always}, model="not ready"),
    "state across a page accepted": Fault({"straddles_page": never}, model="places"),
    "state at the end of a page refused": Fault(
        {"straddles_page": straddles_where_the_page_ends}, model="places"
    ),
    "wrong opaque_len accepted": Fault({"has_wrong_size": never}, model="sizes"),
    "unknown flag served": Fault({"has_unknown_flag": never}, model="flags"),
    "known flag refused": Fault({"KNOWN_FLAGS": 3}, model="flags"),
    "failed reseed keeps the generation": Fault(
        {"reseed": failed_reseed_keeps_the_generation},
        model="a key that does not come",
        once="drop at access 0 of a call without a key",
    ),
    "short key accepted": Fault(
        {"request_key": short_key_accepted},
        model="a key that does not come",
        once="drop at access 0 of a call without a key",
    ),
    "query not answered": Fault({"is_query": never}, model="queries"),
    "query with a buffer answered": Fault({"is_query": query_whatever(buffer=0)}, model="queries"),
    "query with a length answered": Fault({"is_query": query_whatever(len=0)}, model="queries"),
    "query with flags answered": Fault({"is_query": query_whatever(flags=0)}, model="queries"),
    "length not capped": Fault({"INT_MAX": 2**64 - 1}, model="the longest"),
}


def applied(fault: Fault, patch: pytest.MonkeyPatch) -> None:
    for name, wrong in fault.patches.items():
        assert name in RIGHT
        patch.setattr(spec, name, wrong)


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    applied(fault, monkeypatch)
    if fault.model:
        with pytest.raises(AssertionError):
            agrees_with_model(PORTS[0], NAMED[fault.model])
    if fault.once:
        with pytest.raises(AssertionError):
            gives_bytes_once(PORTS[0], UNRULY[fault.once])
    if fault.order:
        with pytest.raises(AssertionError):
            keeps_order(PORTS[0], UNRULY[fault.order])
    assert fault.model or fault.once or fault.order


until_found = settings(
    max_examples=5000,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
)


@until_found
@given(st.sampled_from(PORTS), exact)
def search_against_the_model(port: Port, history: Sequence[Step]) -> None:
    agrees_with_model(port, history)


@until_found
@given(st.sampled_from(PORTS), unruly)
def search_for_bytes_given_twice(port: Port, history: Sequence[Step]) -> None:
    gives_bytes_once(port, history)


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found_by_searching(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    applied(fault, monkeypatch)
    if fault.model:
        with pytest.raises(AssertionError):
            search_against_the_model()
    if fault.once:
        with pytest.raises(AssertionError):
            search_for_bytes_given_twice()
