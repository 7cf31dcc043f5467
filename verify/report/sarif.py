"""SARIF 2.1.0 (OASIS standard), as code scanners write it.

One result for each obligation that is REFUTED, and one for a property that is UNKNOWN or VACUOUS;
the rules are the properties. A result lies at the address of its instruction, and at the line of
the source where debug information tells it. Files that cannot be used are notifications.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from verify import __version__
from verify.report.formats import caveats, failing, reason, title
from verify.resultjson import Outcome, dumps
from verify.verdict import Check, PropertyResult, Result, Verdict

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def render(outcome: Outcome) -> str:
    """The whole report."""
    rules = {
        found.property: found.title for result in outcome.results for found in result.properties
    }
    order = list(rules)
    files = list(dict.fromkeys(map(_file, outcome.results)))
    driver = {
        "name": "vdso-verify",
        "version": __version__,
        "rules": [{"id": name, "shortDescription": {"text": text}} for name, text in rules.items()],
    }
    invocation: dict[str, Any] = {"executionSuccessful": not outcome.failures}
    if outcome.failures:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": str(failure)}} for failure in outcome.failures
        ]
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "artifacts": [
            {"location": {"uri": uri}, "hashes": {"sha-256": digest}} for uri, digest in files
        ],
        "results": [
            one
            for result in outcome.results
            for found in result.properties
            for one in _results(files.index(_file(result)), result, found, order)
        ],
    }
    return dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _file(result: Result) -> tuple[str, str]:
    """The URI of the file and its SHA-256."""
    return quote(result.target.source), result.target.sha256


def _results(
    number: int, result: Result, found: PropertyResult, order: list[str]
) -> Iterator[dict[str, Any]]:
    if found.verdict is Verdict.PROVED:
        return
    refuted = found.verdict is Verdict.REFUTED
    checks: tuple[Check | None, ...] = (failing(found) if refuted else ()) or (None,)
    for check in checks:
        obligation = f" Obligation {check.id}: {check.claim}." if check is not None else ""
        text = (
            f"{title(result)}: {found.title}: {found.verdict.value}: {reason(found)}.{obligation}"
            f" Caveats: {caveats(result)}."
        )
        yield {
            "ruleId": found.property,
            "ruleIndex": order.index(found.property),
            "level": "error" if refuted else "warning",
            "message": {"text": text},
            "locations": [_location(number, result, found, check)],
        }


def _location(
    number: int, result: Result, found: PropertyResult, check: Check | None
) -> dict[str, Any]:
    """The instruction that deviates or that the obligation came from; else the function."""
    shown = found.counterexample
    address = result.target.address
    if check is not None and check.instructions:
        address = check.instructions[0]
    if shown is not None and shown.deviation is not None:
        address = shown.deviation
    if found.pair is not None and found.pair.observation.instruction is not None:
        address = found.pair.observation.instruction
    artifact: dict[str, Any] = {"uri": _file(result)[0], "index": number}
    region: dict[str, Any] = {}
    if shown is not None and (source := shown.source.rpartition(":"))[0] and source[2].isdigit():
        artifact, region = {"uri": quote(source[0])}, {"startLine": int(source[2])}
    return {
        "physicalLocation": {
            "artifactLocation": artifact,
            "address": {"absoluteAddress": address, "kind": "instruction"},
            **({"region": region} if region else {}),
        },
        "logicalLocations": [{"name": result.target.function, "kind": "function"}],
    }
