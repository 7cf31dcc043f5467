"""Prints what a step of a GitHub workflow hands on, from the JSON of `prove`, as lines NAME=VALUE.

Its exit code is that of the step.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from verify.resultjson import Failed, Outcome, from_json
from verify.verdict import Verdict

UNDECIDED = 3
"""The exit code of `prove` for UNKNOWN and VACUOUS, and for a failure of the harness."""


def exit_code(outcome: Outcome, fail_on: str) -> int:
    """That of `prove`; with "refuted", UNKNOWN and VACUOUS pass, but no failure of the harness."""
    passes = fail_on == "refuted" and outcome.results and not outcome.failures
    return 0 if passes and outcome.exit_code == UNDECIDED else outcome.exit_code


def outputs(outcome: Outcome, reports: str, fail_on: str) -> dict[str, str]:
    """The outputs of action.yml."""
    verdicts = [
        {
            "file": result.target.source,
            "function": result.target.function,
            "verdict": result.verdict.value,
            "properties": {one.property: one.verdict.value for one in result.properties},
        }
        for result in outcome.results
    ]
    return {
        "verdict": _verdict(outcome),
        "verdicts": json.dumps(verdicts),
        "exit-code": str(exit_code(outcome, fail_on)),
        "reports": reports,
    }


def _verdict(outcome: Outcome) -> str:
    """The worst of all: ERROR for what could not be used, unless something is REFUTED."""
    found = {result.verdict for result in outcome.results}
    if Verdict.REFUTED in found:
        return Verdict.REFUTED.value
    if outcome.failures:
        kinds = {failure.kind for failure in outcome.failures}
        return "INTERRUPTED" if Failed.INTERRUPTED in kinds else "ERROR"
    return next(
        (one.value for one in (Verdict.UNKNOWN, Verdict.VACUOUS, Verdict.PROVED) if one in found),
        "ERROR",
    )


if __name__ == "__main__":
    document, directory, choice = sys.argv[1:]
    read = from_json(json.loads(Path(document).read_text("utf-8")))
    for name, value in outputs(read, directory, choice).items():
        sys.stdout.write(f"{name}={value}\n")
    sys.exit(exit_code(read, choice))
