"""Markdown for a mailing list or a merge request: below 80 columns, to be read as plain text."""

from __future__ import annotations

from verify.report.templating import environment
from verify.resultjson import Outcome


def render(outcome: Outcome) -> str:
    """The whole report."""
    template = environment(escape=False).get_template("markdown.j2")
    return template.render(results=outcome.results, failures=outcome.failures)
