"""Writes the table of verified kernels into README.md from what `prove --json` wrote.

`python -m scripts.kernels_table FILE`, where FILE is JSON of kernel packages as `fetch` names them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path, PurePath

from scripts.pages import replace_section
from verify.resultjson import from_json
from verify.verdict import Result, Verdict

PACKAGE = re.compile(r"(?P<name>[^_]+)_(?P<version>[^_]+)_[^_]+\.deb")
HEADINGS = ("Debian package", "version", "variants", "PROVED", "not", "stack")


def row(result: Result) -> list[str]:
    """The cells for one kernel."""
    file = PurePath(result.target.source).name
    match = PACKAGE.fullmatch(file)
    name, version = match.group("name", "version") if match else (file, "")
    proved = [found.property for found in result.properties if found.verdict is Verdict.PROVED]
    others = [
        f"{found.property} {found.verdict.value}"
        for found in result.properties
        if found.verdict is not Verdict.PROVED
    ]
    version = version.replace("%3a", ":")
    variants = "; ".join(variant.name for variant in result.variants) or "not known"
    listed = ", ".join(proved), ", ".join(others) or "none"
    return [name, version, variants, *listed, result.discipline]


def hashes(result: Result) -> str:
    """One line on which bytes the verdicts are about."""
    target = result.target
    return (
        f"- {PurePath(target.source).name}: SHA-256 of the package `{target.sha256}`, of the vDSO"
        f" `{target.image_sha256}`, of the {target.size} bytes of the function at"
        f" {target.address:#x} `{target.function_sha256}`."
    )


def table(results: tuple[Result, ...]) -> str:
    """The Markdown of all kernels, in the order of their names."""
    ordered = sorted(results, key=lambda result: result.target.source)
    rows = [list(HEADINGS), ["---"] * len(HEADINGS), *map(row, ordered)]
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([*lines, "", *map(hashes, ordered)])


if __name__ == "__main__":
    outcome = from_json(json.loads(Path(sys.argv[1]).read_text()))
    replace_section("kernels", table(outcome.results))
