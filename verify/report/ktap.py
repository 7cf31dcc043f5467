"""KTAP, version 1, as in Linux `Documentation/dev-tools/ktap.rst`.

One test for each function, with one subtest for each property. What is UNKNOWN or VACUOUS is `not
ok`, with the directive ERROR; so is a file that cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterator

from verify.errors import printable
from verify.report.formats import caveats, reason, title
from verify.resultjson import Outcome
from verify.verdict import PropertyResult, Result, Verdict

VERSION = "KTAP version 1"


def render(outcome: Outcome) -> str:
    """The whole report."""
    lines = [VERSION, f"1..{len(outcome.results) + len(outcome.failures)}"]
    for number, result in enumerate(outcome.results, 1):
        lines += (f"  {line}" for line in _subtests(result))
        lines.append(f"{_status(result.verdict)} {number} {_description(title(result))}")
    for number, failure in enumerate(outcome.failures, len(outcome.results) + 1):
        name = failure.source or failure.kind.value
        lines.append(f"not ok {number} {_description(name)} # ERROR {_description(failure.reason)}")
    return "\n".join([*lines, ""])


def _status(verdict: Verdict) -> str:
    return "ok" if verdict is Verdict.PROVED else "not ok"


def _description(text: str) -> str:
    """Text in which nothing looks like a directive."""
    return " ".join(printable(text).replace("#", "no.").split())


def _subtests(result: Result) -> Iterator[str]:
    yield VERSION
    yield f"# Subtest: {_description(title(result))}"
    yield f"# function sha256 {result.target.function_sha256}, caveats {caveats(result)}"
    if result.environment is not None:
        yield f"# chacha20 sha256 {result.environment.chacha20.function_sha256}"
    yield f"1..{len(result.properties)}"
    for number, found in enumerate(result.properties, 1):
        yield from _property(number, found)


def _property(number: int, found: PropertyResult) -> Iterator[str]:
    if found.verdict is not Verdict.PROVED:
        yield f"# {found.property}: {found.verdict.value}: {_description(reason(found))}"
    directive = ""
    if found.verdict in (Verdict.UNKNOWN, Verdict.VACUOUS):
        directive = f" # ERROR {found.verdict.value}"
    yield f"{_status(found.verdict)} {number} {found.property}{directive}"
