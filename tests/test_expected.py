"""Every binary has exactly the verdicts that the `expected.toml` of its architecture lists.

A proof that quietly disappears, a fault that is no longer refuted, and a binary that nobody looks
at fail here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from binaries.patches import load
from tests.proving import BINARIES, proved
from verify.options import PROPERTIES
from verify.verdict import Result, Verdict

EXPECTED = {
    name: entry
    for path in sorted(BINARIES.glob("*/expected.toml"))
    for name, entry in tomllib.loads(path.read_text()).items()
}
FAULTS = {f"faults/{fault.architecture}/{fault.name}.so": fault for fault in load(BINARIES)}
PROCESSES = 2
LEAVES_AT = "leaves_at"


def verdicts_of(entry: Mapping[str, list[str]]) -> dict[str, Verdict]:
    """Property to verdict, from an entry of the list."""
    named = [(verdict, entry.get(verdict.value, [])) for verdict in Verdict]
    return {property_id: verdict for verdict, listed in named for property_id in listed}


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Future[Result]]]:
    """The results of the selected tests' binaries, computed side by side."""
    selected = [
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.function is test_verdicts
    ]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        yield {name: pool.submit(proved, name) for name in selected}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", EXPECTED)
def test_verdicts(name: str, results: Mapping[str, Future[Result]]) -> None:
    result = results[name].result()
    found = {one.property: one.verdict for one in result.properties}
    reasons = {one.property: one.reason for one in result.properties if one.reason}
    assert found == verdicts_of(EXPECTED[name]), reasons
    for one in result.properties:
        shown = one.counterexample
        assert (shown is not None) == (one.verdict is Verdict.REFUTED)
        if shown is not None:
            assert shown.executed_by.startswith("qemu-")
            assert shown.expected != shown.actual
        if shown is not None and one.property == "output":
            assert shown.deviation is not None
            where = f"{shown.deviation:#x}: {shown.deviation_text}"
            assert where == EXPECTED[name][LEAVES_AT]


def test_every_binary_is_listed_and_every_listed_one_exists() -> None:
    on_disk = {path.relative_to(BINARIES).as_posix() for path in BINARIES.rglob("*.so")}
    assert set(EXPECTED) == on_disk
    assert len(on_disk) > len(FAULTS)


@pytest.mark.parametrize("name", EXPECTED)
def test_entry_is_complete_and_agrees_with_the_list_of_faults(name: str) -> None:
    entry = EXPECTED[name]
    assert sorted(verdicts_of(entry)) == sorted(PROPERTIES)
    assert set(entry) <= {"PROVED", "REFUTED", LEAVES_AT}
    refuted = set(entry.get("REFUTED", ()))
    assert refuted == set(FAULTS[name].refuted_by if name in FAULTS else ())
    assert (LEAVES_AT in entry) == ("output" in refuted)
