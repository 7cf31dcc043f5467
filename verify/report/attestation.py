"""In-toto statements (in-toto Attestation Framework, Statement v1), one on each line.

The subjects are the file and, where the image lies inside it, the image. The predicate is a test
result (predicate type test-result v0.1): PASSED only where every property is PROVED. Its `verdicts`
are in the words of this project, with the caveats that they rest on.
"""

from __future__ import annotations

import json
from typing import Any

from verify.report.formats import reason
from verify.resultjson import Outcome, encode
from verify.verdict import Result, Verdict

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"


def render(outcome: Outcome) -> str:
    """The statements, which say nothing of files that cannot be used."""
    return "".join(json.dumps(_statement(result)) + "\n" for result in outcome.results)


def _statement(result: Result) -> dict[str, Any]:
    target = result.target
    subjects = {target.sha256: target.source, target.image_sha256: " > ".join(target.path)}
    if target.image_sha256 == target.sha256:
        subjects[target.sha256] = target.source
    passed = [one.property for one in result.properties if one.verdict is Verdict.PROVED]
    proved = result.verdict is Verdict.PROVED
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": name, "digest": {"sha256": digest}} for digest, name in subjects.items()
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "result": "PASSED" if proved else "FAILED",
            "configuration": [
                {"name": name, "annotations": {"version": version}}
                for name, version in result.tools.items()
            ],
            "passedTests": passed,
            "failedTests": [p.property for p in result.properties if p.property not in passed],
            "function": {
                "name": target.function,
                "address": f"{target.address:#x}",
                "size": target.size,
                "sha256": target.function_sha256,
                "architecture": target.architecture,
            },
            "contract": result.contract.value,
            "environment": encode(result.environment),
            "verdicts": {p.property: p.verdict.value for p in result.properties},
            "reasons": {p.property: reason(p) for p in result.properties if reason(p)},
            "caveats": [caveat.value for caveat in result.caveats],
        },
    }
