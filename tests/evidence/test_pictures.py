"""Pictures are the same each time, say what they show in words, and need no colour."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from verify.arch import by_name
from verify.counterexample import Departure
from verify.evidence import pictures
from verify.prove.follow import Made, Node, Write
from verify.prove.place import Operation

MADE = [
    Made(
        Operation(number, number // 48 + 1, number // 12 % 4 + 1, number % 16), number, number < 99
    )
    for number in range(960)
]
DEPARTURE = Departure(0, 3, 1, "sum", 5, 0x1234, 1, ())
WRITES = [
    Write(3, 0x40, "stack", -16, 8, dirty=False),
    Write(4, 0x44, "stack", -8, 4, dirty=True),
    Write(90, 0x48, "dst", 0, 4, dirty=True),
    Write(91, 0x4C, "dst", 68, 4, dirty=True),
    Write(92, 0x50, "counter", 0, 8, dirty=False),
]
NODES = [
    Node(None, "key word 1", None, ()),
    Node(0x40, "", 7, (0,)),
    Node(None, "t0 at the return", None, (1,)),
]


def drawn(name: str) -> str:
    match name:
        case "rounds":
            return pictures.rounds(MADE, DEPARTURE)
        case "memory":
            return pictures.memory(WRITES, pictures.limits_of(by_name("powerpc64le")))
        case _:
            return pictures.flow(NODES, ["key word 1", "40: lw t0", "t0 at the return"])


SAID = {
    "rounds": ("round 1", "round 20", "output", "column of the state (word number modulo 4)"),
    "memory": (
        "offset from dst (bytes)",
        "offset from the stack pointer at entry (bytes)",
        "store (in order)",
        "stack: 2 stores, 1 of what depends on the key",
    ),
    "flow": ("key word 1", "40: lw t0", "t0 at the return"),
}


@pytest.mark.parametrize("name", SAID)
def test_picture(name: str) -> None:
    picture = drawn(name)
    assert picture == drawn(name)
    texts = ["".join(node.itertext()).strip() for node in ElementTree.fromstring(picture).iter()]
    for part in SAID[name]:
        assert part in texts
    assert "<script" not in picture


@pytest.mark.parametrize("name", SAID)
def test_no_colour_is_needed(name: str) -> None:
    for red, green, blue in re.findall(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})\b", drawn(name)):
        assert red == green == blue


def test_what_differs_differs_in_its_pattern_too() -> None:
    good = [Made(one.operation, 0, made=True) for one in MADE]
    assert drawn("rounds").count("fill: url(#") > 200
    assert pictures.rounds(good, None).count("fill: url(#") == 0
    clean = [Write(1, 4, "dst", 0, 4, dirty=False)]
    limits = pictures.limits_of(by_name("powerpc64le"))
    dirty = [Write(1, 4, "dst", 0, 4, dirty=True)]
    assert pictures.memory(dirty, limits).count("<pattern") == 1
    assert pictures.memory(clean, limits).count("<pattern") == 0
