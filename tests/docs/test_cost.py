"""The page on costs is of the project's present programs, and says what is measured; `make cost`
renews it."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from scripts.cost_table import HASH, PAGE, SECTION, tables
from scripts.pages import has_section
from tests.history.programs import BINARIES, PROGRAMS
from verify.cost.cost import calls
from verify.cost.formula import formulas
from verify.cost.measure import counts
from verify.cost.model import Cost
from verify.cost.report import to_json
from verify.history.layout import booted
from verify.image import open_images

ROW = re.compile(r"(?m)^\| \w+ \| (?P<name>\w+/\w+)\.so \| (?P<hash>\w+) \|")


def test_each_own_program_has_a_row_of_its_present_bytes() -> None:
    content = PAGE.read_text()
    assert has_section(content, SECTION)
    rows = {match["name"]: match["hash"] for match in ROW.finditer(content)}
    hashes = {
        name: hashlib.sha256((BINARIES / f"{name}.so").read_bytes()).hexdigest()[:HASH]
        for name in PROGRAMS
    }
    assert rows == hashes, "stale: run `make cost`"


def test_a_formula_of_the_page_gives_what_is_measured() -> None:
    (image,) = open_images(BINARIES / "s390x/getrandom.so")
    found = counts(booted(image), [(13, 40), (16, 80)]).by_call
    assert "| s390x/getrandom.so | 67 + 5 len | 761 + 329 blocks" in PAGE.read_text()
    assert found == {(13, 40): 67 + 5 * 13, (16, 80): 67 + 5 * 16}


def document(source: str, **changes: Any) -> dict[str, Any]:
    """What `cost --json` writes of a program whose calls cost as many as they have bytes."""
    (image,) = open_images(BINARIES / "s390x/getrandom.so")
    by_call = {call: call[0] for call in calls()}
    given = {
        "source": source,
        "path": (),
        "image_sha256": image.sha256,
        "architecture": booted(image).program.architecture,
        "function": "f",
        "executor": "an emulator",
        "page_bytes": 4096,
        "data_page": 8192,
        "patched": (),
        "by_call": by_call,
        "formulas": formulas(by_call),
        "aligned_only": False,
        **changes,
    }
    content: dict[str, Any] = json.loads(to_json([Cost(**given)], [("a/b.deb: c", "no reason")]))
    return content


def test_the_tables_say_what_the_file_says() -> None:
    text = tables(document("a/s390x/x.so", patched=("facility 1",), aligned_only=True))
    assert "| s390x | s390x/x.so |" in text
    assert "| 4.00 | 8.00 | 16.00 | 32.00 | 256.00 |" in text
    assert "| s390x/x.so | 1 len | 64 blocks + 1 first + 1 rest |" in text
    assert "- s390x/x.so: with a buffer at a multiple of 64." in text
    assert "- s390x/x.so: as the kernel patches it (facility 1)." in text
    assert "- b.deb: c: no reason." in text
    package = tables(document("k/linux-binary-7-s390x_7.2-1_s390x.deb"))
    assert "| linux-binary-7-s390x 7.2-1 |" in package
