"""One self-contained page for a reviewer: no network, no script, printable."""

from __future__ import annotations

from verify.report.templating import environment
from verify.resultjson import Outcome


def render(outcome: Outcome) -> str:
    """The whole page."""
    names = [found.property for result in outcome.results for found in result.properties]
    template = environment(escape=True).get_template("html.j2")
    return template.render(
        results=outcome.results, failures=outcome.failures, properties=list(dict.fromkeys(names))
    )
