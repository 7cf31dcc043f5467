"""Writes the tables of docs/cost.md from what `cost --json` wrote.

`python -m scripts.cost_table FILE`, where FILE is JSON of the project's own programs and of kernel
packages as `fetch` names them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path, PurePath
from typing import Any

from scripts.kernels_table import PACKAGE
from scripts.pages import DOCS, replace_section
from verify.cost.formula import Formula, Term
from verify.cost.report import shown

PAGE = DOCS / "cost.md"
SECTION = "costs"
HASH = 8
"""Digits of a hash in a table."""


def name(source: str) -> str:
    """What a row calls a file: a package with its version, or where it is in binaries."""
    path = PurePath(source)
    match = PACKAGE.fullmatch(path.name)
    return " ".join(match.group("name", "version")) if match else f"{path.parent.name}/{path.name}"


def formula(terms: list[dict[str, Any]] | None) -> str:
    """A formula, or that there is none."""
    if terms is None:
        return shown(None)
    return shown(Formula(tuple(Term(one["of"], tuple(one["factors"])) for one in terms)))


def tables(content: dict[str, Any]) -> str:
    """The Markdown of all programs: own and those of kernels, each in the order of the file."""
    lengths = [str(length) for length in content["lengths"]]
    costs = sorted(content["costs"], key=lambda cost: cost["source"].endswith(".deb"))
    means = [
        [
            cost["architecture"],
            name(cost["source"]),
            cost["image_sha256"][:HASH],
            *(f"{cost['mean'][length]:.2f}" for length in lengths),
        ]
        for cost in costs
    ]
    formulas = [
        [name(cost["source"]), formula(cost["within"]), formula(cost["beyond"])] for cost in costs
    ]
    calls = {cost["calls"] for cost in costs}
    executors = sorted({cost["executor"] for cost in costs})
    lines = [
        *_table(["architecture", "program", "SHA-256 begins", *lengths], means),
        "",
        *_table(["program", "len <= 96 - pos", "len > 96 - pos"], formulas),
        "",
        f"Executed for each: {' or '.join(map(str, sorted(calls)))} calls, and some again with a"
        " buffer at an odd address.",
        "",
        *(
            f"- {name(cost['source'])}: with a buffer at a multiple of 64."
            for cost in costs
            if cost["aligned_only"]
        ),
        *(
            f"- {name(cost['source'])}: as the kernel patches it ({', '.join(cost['patched'])})."
            for cost in costs
            if cost["patched"]
        ),
        *(f"- {PurePath(one['source']).name}: {one['reason']}." for one in content["failures"]),
        f"- {'; '.join(executors)}.",
    ]
    return "\n".join(lines)


def _table(headings: list[str], rows: list[list[str]]) -> list[str]:
    cells = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(row)} |" for row in cells]


if __name__ == "__main__":
    replace_section(SECTION, tables(json.loads(Path(sys.argv[1]).read_text())), PAGE)
