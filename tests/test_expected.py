"""Every binary has exactly the verdicts that the `expected.toml` of its architecture lists.

A proof that quietly disappears, a fault that is no longer refuted, and a binary that nobody looks
at fail here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import pytest

from binaries.patches import load, load_getrandom
from tests.proving import BINARIES, every_fault, proved, target_of
from verify.counterexample import Counterexample
from verify.evidence.replay import again
from verify.options import PROPERTIES
from verify.verdict import Verdict

EXPECTED = {
    name: entry
    for path in sorted(BINARIES.glob("*/expected.toml"))
    for name, entry in tomllib.loads(path.read_text()).items()
}
FAULTS = {f"faults/{fault.architecture}/{fault.name}.so": fault for fault in load(BINARIES)}
LEAVES_AT = "leaves_at"


def verdicts_of(entry: Mapping[str, list[str]]) -> dict[str, Verdict]:
    """Property to verdict, from an entry of the list."""
    named = [(verdict, entry.get(verdict.value, [])) for verdict in Verdict]
    return {property_id: verdict for verdict, listed in named for property_id in listed}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=every_fault(f"binaries/{name}")) for name in EXPECTED]
)
def test_verdicts(name: str) -> None:
    result = proved(name)
    found = {one.property: one.verdict for one in result.properties}
    reasons = {one.property: one.reason for one in result.properties if one.reason}
    assert found == verdicts_of(EXPECTED[name]), reasons
    for one in result.properties:
        shown = one.counterexample
        assert (shown is not None) == (one.verdict is Verdict.REFUTED)
        if shown is not None:
            assert shown.executed_by.startswith("qemu-")
            assert shown.expected != shown.actual
            assert_simple(shown)
            seen = again(target_of(name), shown)
            assert seen is not None
            assert seen.expected == shown.expected
            # Where code that does not end is when its time has run out is another place each time.
            assert seen.actual == shown.actual or one.property == "termination"
        if shown is not None and one.property == "output":
            assert shown.in_place or shown.departure is not None
            assert shown.deviation is not None
            where = f"{shown.deviation:#x}: {shown.deviation_text}"
            assert where == EXPECTED[name][LEAVES_AT]


def assert_simple(shown: Counterexample) -> None:
    """No fault here needs more than two blocks and one bit of the key, or a counter other than
    zero, one, or those in front of a carry; what differs between two keys differs in one bit."""
    assert shown.nblocks <= 2
    assert sum(word.bit_count() for word in shown.key) <= 1
    assert shown.counter in (0, 1, 2**32 - 1, 2**64 - 1)
    assert not shown.registers
    if shown.other_key:
        pairs = zip(shown.key, shown.other_key, strict=True)
        assert 1 <= sum((one ^ other).bit_count() for one, other in pairs) <= 2


def test_every_binary_is_listed_and_every_listed_one_exists() -> None:
    on_disk = {path.relative_to(BINARIES).as_posix() for path in BINARIES.rglob("*.so")}
    around = {fault.path.removeprefix("binaries/") for fault in load_getrandom(BINARIES)}
    assert set(EXPECTED) | around == on_disk
    assert len(on_disk) > len(FAULTS)


@pytest.mark.parametrize("name", EXPECTED)
def test_entry_is_complete_and_agrees_with_the_list_of_faults(name: str) -> None:
    entry = EXPECTED[name]
    assert sorted(verdicts_of(entry)) == sorted(PROPERTIES)
    assert set(entry) <= {"PROVED", "REFUTED", LEAVES_AT}
    refuted = set(entry.get("REFUTED", ()))
    assert refuted == set(FAULTS[name].refuted_by if name in FAULTS else ())
    assert (LEAVES_AT in entry) == ("output" in refuted)
