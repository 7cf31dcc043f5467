"""Results survive JSON, and the schemas describe what is written, no more and no less."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import verify
from tests.report import samples
from verify.anatomy import (
    Anatomy,
    Held,
    ListedInstruction,
    MemoryAccess,
    MemoryRegion,
    Part,
    Role,
)
from verify.callhistory import (
    CallHistory,
    CallOutcome,
    HistoryCall,
    HistoryInterruption,
    KernelAnswer,
    SystemCallMade,
)
from verify.callpair import CallPair
from verify.counterexample import Counterexample, Departure, Observation, RegisterValue, StateWord
from verify.inspection import Inspection, Instruction, LoopShape
from verify.resultjson import (
    ADDED,
    HEXADECIMAL,
    Failed,
    Failure,
    Outcome,
    dumps,
    from_json,
    inspections_to_json,
    to_json,
)
from verify.verdict import (
    FORMAT,
    CalledFunction,
    Check,
    Contract,
    Environment,
    LoopSummary,
    PatchSummary,
    PropertyResult,
    Result,
    StackWrite,
    TargetSummary,
    VariantSummary,
    VariantVerdict,
    Verdict,
)

SCHEMAS = Path(verify.__file__).parent / "schema"
FAILURES = (
    Failure(Failed.INPUT, "a\\nb", "empty file"),
    Failure(Failed.INTERNAL, "", "internal error"),
)
OUTCOME = Outcome(tuple(samples.ALL.values()), FAILURES)
INSPECTION = Inspection(
    samples.TARGET,
    (LoopShape(0x3C4, 0x648, 162, 1), LoopShape(0x418, 0x59C, 98, 2)),
    (Instruction(0x360, "6380fe02", "addi.d sp, sp,-0x60"),),
    (samples.PATCHED_VARIANT,),
)


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return loaded


RESULT = Draft202012Validator(schema("result"))
INSPECTED = Draft202012Validator(schema("inspection"))


def reread(outcome: Outcome) -> Outcome:
    return from_json(json.loads(dumps(to_json(outcome))))


@pytest.mark.parametrize("name", ["result", "inspection"])
def test_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


def test_round_trip_of_the_samples() -> None:
    assert reread(OUTCOME) == OUTCOME
    RESULT.validate(json.loads(dumps(to_json(OUTCOME))))
    RESULT.validate(to_json(Outcome()))


def test_inspections_follow_their_schema() -> None:
    document = json.loads(dumps(inspections_to_json([INSPECTION], FAILURES)))
    INSPECTED.validate(document)
    (inspected,) = document["inspections"]
    assert inspected["loops"][1]["head"] == "0x418"
    assert inspected["instructions"][0]["address"] == "0x360"


def test_what_is_written() -> None:
    document = to_json(OUTCOME)
    assert document["format"] == FORMAT
    assert document["generator"] == {"name": "vdso-verify", "version": verify.__version__}
    assert [result["verdict"] for result in document["results"]] == [
        "PROVED",
        "REFUTED",
        "UNKNOWN",
        "PROVED",
        "UNKNOWN",
        "REFUTED",
    ]
    assert [result["contract"] for result in document["results"]] == ["chacha20"] * 5 + [
        "getrandom"
    ]
    assert document["results"][5]["environment"]["chacha20"]["address"] == "0x760"
    counterexample = document["results"][1]["properties"][0]["counterexample"]
    assert counterexample["key"][0] == "0x03020100"
    assert counterexample["counter"] == "0x0000000100000000"
    assert counterexample["deviation"] == "0x4a4"
    assert document["errors"][0] == {"kind": "input", "source": "a\\nb", "reason": "empty file"}


ADDRESSES = st.integers(0, 2**64 - 1)
TEXT = st.text()
SECONDS = st.floats(0, 1e9)
TARGETS = st.builds(TargetSummary, address=ADDRESSES, size=ADDRESSES)
WORDS = st.integers(0, 2**32 - 1)
KEYS = st.lists(WORDS, min_size=8, max_size=8).map(tuple)
REGISTERS = st.lists(st.builds(RegisterValue, value=st.integers(0, 2**128 - 1)), max_size=2).map(
    tuple
)
STATE = st.lists(
    st.builds(
        StateWord,
        word=st.integers(0, 15),
        value=WORDS,
        held_in=st.lists(TEXT, max_size=2).map(tuple),
    ),
    max_size=2,
).map(tuple)
DEPARTURES = st.builds(
    Departure,
    block=st.integers(0, 9),
    round=st.integers(0, 20),
    quarter_round=st.integers(0, 4),
    word=st.integers(0, 15),
    expected=WORDS,
    visit=st.integers(0, 2**40),
    state=STATE,
)
COUNTEREXAMPLES = st.builds(
    Counterexample,
    key=KEYS,
    counter=ADDRESSES,
    nblocks=st.integers(1, 2**58),
    deviation=st.none() | ADDRESSES,
    seed=st.integers(0, 2**40),
    registers=REGISTERS,
    other_key=st.just(()) | KEYS,
    other_registers=REGISTERS,
    observation=st.builds(
        Observation,
        instruction=st.none() | ADDRESSES,
        register=TEXT,
        region=TEXT,
        offset=st.integers(-(2**40), 2**40),
        size=st.integers(0, 64),
    ),
    block=st.none() | st.integers(0, 9),
    expected_words=st.just(()) | KEYS,
    notes=st.lists(TEXT, max_size=2).map(tuple),
    departure=st.none() | DEPARTURES,
)
CHECKS = st.builds(
    Check,
    seconds=SECONDS,
    instances=st.integers(1),
    instructions=st.lists(ADDRESSES, max_size=3).map(tuple),
)
SYSTEM_CALLS = st.builds(SystemCallMade, buffer=ADDRESSES, len=ADDRESSES)
OUTCOMES = st.builds(
    CallOutcome,
    system_calls=st.lists(SYSTEM_CALLS, max_size=1).map(tuple),
    nested=st.just(()),
    breaches=st.lists(TEXT, max_size=1).map(tuple),
)
ANSWERS = st.builds(KernelAnswer, generation=st.none() | ADDRESSES)
CALLS = st.builds(
    HistoryCall,
    buffer=ADDRESSES,
    len=ADDRESSES,
    opaque_state=ADDRESSES,
    opaque_len=ADDRESSES,
    generation=ADDRESSES,
    answers=st.lists(ANSWERS, max_size=1).map(tuple),
    interruptions=st.just(()),
)
HANDLERS = st.builds(
    HistoryInterruption,
    address=ADDRESSES,
    generation=st.none() | ADDRESSES,
    call=st.none() | CALLS,
)
HISTORIES = st.builds(
    CallHistory,
    calls=st.lists(
        st.builds(
            lambda call, happening: dataclasses.replace(call, interruptions=happening),
            CALLS,
            st.lists(HANDLERS, max_size=1).map(tuple),
        ),
        max_size=1,
    ).map(tuple),
    outcomes=st.lists(OUTCOMES, max_size=1).map(tuple),
    specified=st.lists(OUTCOMES, max_size=1).map(tuple),
    account=st.lists(TEXT, max_size=1).map(tuple),
)
PAIRS = st.builds(
    CallPair,
    calls=st.tuples(CALLS, CALLS),
    seeds=st.tuples(st.integers(0), st.none()),
    outcomes=st.tuples(OUTCOMES, OUTCOMES),
    observation=st.builds(Observation, instruction=st.none() | ADDRESSES),
    account=st.lists(TEXT, max_size=1).map(tuple),
)
PROPERTIES = st.builds(
    PropertyResult,
    history=st.none() | HISTORIES,
    pair=st.none() | PAIRS,
    seconds=SECONDS,
    checks=st.lists(CHECKS, max_size=2).map(tuple),
    findings=st.lists(TEXT, max_size=2).map(tuple),
    counterexample=st.none() | COUNTEREXAMPLES,
)
VARIANTS = st.builds(
    VariantSummary,
    patches=st.lists(st.builds(PatchSummary, address=ADDRESSES), max_size=2).map(tuple),
    verdicts=st.lists(st.builds(VariantVerdict), max_size=2).map(tuple),
)
NUMBERS = st.lists(st.integers(0, 20), max_size=3).map(tuple)
OFFSETS = st.integers(-(2**40), 2**40)
LOOPS = st.builds(
    LoopSummary,
    head=ADDRESSES,
    last=st.none() | ADDRESSES,
    back=st.lists(ADDRESSES, max_size=2).map(tuple),
    held=st.lists(st.builds(Held, step=OFFSETS), max_size=2).map(tuple),
)
LISTED = st.builds(
    ListedInstruction,
    address=ADDRESSES,
    roles=st.lists(
        st.builds(
            Role, st.sampled_from(Part), rounds=NUMBERS, quarter_rounds=NUMBERS, words=NUMBERS
        ),
        max_size=2,
    ).map(tuple),
    accesses=st.lists(st.builds(MemoryAccess, offset=st.none() | OFFSETS), max_size=2).map(tuple),
)
ANATOMIES = st.builds(
    Anatomy,
    instructions=st.lists(LISTED, max_size=2).map(tuple),
    regions=st.lists(st.builds(MemoryRegion, first=OFFSETS, behind=OFFSETS), max_size=2).map(tuple),
    frame=st.none() | OFFSETS,
)
RESULTS = st.builds(
    Result,
    target=TARGETS,
    properties=st.lists(PROPERTIES, max_size=2).map(tuple),
    stack_writes=st.lists(st.builds(StackWrite, instruction=ADDRESSES), max_size=2).map(tuple),
    loops=st.lists(LOOPS, max_size=2).map(tuple),
    anatomies=st.lists(ANATOMIES, max_size=1).map(tuple),
    variants=st.lists(VARIANTS, max_size=2).map(tuple),
    tools=st.dictionaries(TEXT, TEXT, max_size=2),
    seconds=SECONDS,
    environment=st.none()
    | st.builds(Environment, chacha20=st.builds(CalledFunction, address=ADDRESSES)),
)


@given(st.builds(Outcome, st.lists(RESULTS, max_size=2).map(tuple)))
def test_round_trip(outcome: Outcome) -> None:
    assert reread(outcome) == outcome


def test_results_from_before_a_member_was_there() -> None:
    """They are read, as if what they lack were empty."""
    document = to_json(OUTCOME)
    for result in document["results"]:
        for kind, name in ADDED:
            if kind is Result:
                del result[name]
            for found in result["properties"] if kind is PropertyResult else ():
                del found[name]
        for loop in result["loops"]:
            for kind, name in ADDED:
                if kind is LoopSummary:
                    del loop[name]
    read = from_json(document)
    assert [result.properties for result in read.results] == [
        tuple(dataclasses.replace(found, history=None, pair=None) for found in result.properties)
        for result in OUTCOME.results
    ]
    assert not any(result.anatomies or result.environment for result in read.results)
    assert {result.contract for result in read.results} == {Contract.CHACHA20}
    assert {loop.last for result in read.results for loop in result.loops} == {None}


@pytest.mark.parametrize("name", ["loops", "variants", "stack_writes"])
def test_other_members_are_missed(name: str) -> None:
    document = to_json(OUTCOME)
    del document["results"][0][name]
    with pytest.raises(ValueError, match=name):
        from_json(document)


def test_lines_are_short() -> None:
    """What can be on one line is, and nothing else is longer than a line."""
    lines = dumps(to_json(OUTCOME)).splitlines()
    assert '        "path": ["looped.so"],' in lines
    assert all(len(line) <= 140 or line.endswith(('"', '",')) for line in lines)


def objects(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all objects in a JSON value."""
    if isinstance(value, dict):
        inner = [objects(item, (*path, key)) for key, item in value.items()]
        return [path, *(found for paths in inner for found in paths)]
    if isinstance(value, list):
        inner = [objects(item, (*path, index)) for index, item in enumerate(value)]
        return [found for paths in inner for found in paths]
    return []


def one_of_each(paths: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The first path of each to objects of the same place, whatever their numbers in lists."""
    found: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for path in paths:
        found.setdefault(tuple(step for step in path if isinstance(step, str)), path)
    return list(found.values())


DOCUMENTS = {
    "result": (RESULT, to_json(OUTCOME)),
    "inspection": (INSPECTED, inspections_to_json([INSPECTION], FAILURES)),
}


@pytest.mark.parametrize(("validator", "document"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_the_schema_knows_every_member(
    validator: Draft202012Validator, document: dict[str, Any]
) -> None:
    for path in one_of_each(objects(document)):
        if path and path[-1] == "tools":
            continue  # any name
        members = list(_at(document, path))
        for member in members:
            damaged = copy.deepcopy(document)
            del _at(damaged, path)[member]
            assert not validator.is_valid(damaged), (path, member)
            damaged = copy.deepcopy(document)
            _at(damaged, path)[member] = object()  # of no type that JSON has
            assert not validator.is_valid(damaged), (path, member)
        damaged = copy.deepcopy(document)
        _at(damaged, path)["surplus"] = 1
        assert not validator.is_valid(damaged), path


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


DAMAGED: dict[str, Any] = {
    "nothing": None,
    "list": [],
    "no format": {"results": [], "errors": []},
    "other format": to_json(OUTCOME) | {"format": FORMAT + 1},
    "no errors": {"format": FORMAT, "results": []},
    "result is text": to_json(OUTCOME) | {"results": ["x"]},
    "unknown verdict": to_json(OUTCOME)
    | {"results": [to_json(OUTCOME)["results"][0] | {"properties": [{"verdict": "MAYBE"}]}]},
    "errors of no kind": to_json(OUTCOME) | {"errors": [{"kind": "x", "source": "", "reason": ""}]},
    "size is text": json.loads(json.dumps(to_json(OUTCOME)).replace('"size": 868', '"size": "x"')),
    "function is a number": json.loads(
        json.dumps(to_json(OUTCOME)).replace('"function": "0x760"', '"function": 7')
    ),
}


@pytest.mark.parametrize("document", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_documents(document: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(document)


def result_of(verdict: Verdict) -> Result:
    found = samples.property_result("output", verdict)
    return dataclasses.replace(samples.PROVED, properties=(found,))


P, R, U, V = map(result_of, Verdict)
INPUT, INTERNAL, INTERRUPTED = (Failure(kind, "", "") for kind in Failed)
EXIT_CODES: list[tuple[tuple[Result, ...], tuple[Failure, ...], int]] = [
    ((P,), (), 0),
    ((P, P), (), 0),
    ((R,), (), 1),
    ((P, U, R, V), (INPUT, INTERNAL), 1),
    ((), (INPUT,), 2),
    ((P, U), (INPUT,), 2),
    ((P,), (INPUT, INTERNAL), 2),
    ((U,), (), 3),
    ((V,), (), 3),
    ((P, P, V), (), 3),
    ((P,), (INTERNAL,), 3),
    ((), (), 3),
    ((dataclasses.replace(P, properties=()),), (), 3),
    ((R,), (INTERRUPTED,), 130),
]


@pytest.mark.parametrize(("results", "failures", "code"), EXIT_CODES)
def test_exit_codes(results: tuple[Result, ...], failures: tuple[Failure, ...], code: int) -> None:
    outcome = Outcome(results, failures)
    assert outcome.exit_code == code
    assert to_json(outcome)["exit_code"] == code
    assert RESULT.is_valid(to_json(outcome))


def test_every_number_in_hexadecimal_is_a_field() -> None:
    for kind, name in HEXADECIMAL:
        assert name in {field.name for field in dataclasses.fields(kind)}
