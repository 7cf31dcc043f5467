"""One self-contained page for a reviewer: no network, no script, printable."""

from __future__ import annotations

from verify.report.annotated import from_entry, span, stretches
from verify.report.comparison import compared, first_anatomy
from verify.report.counterexample import grid, place
from verify.report.loops import loop_rows, spans
from verify.report.memory import picture, touched
from verify.report.templating import environment
from verify.report.theorem import NAMES, commands, contracts_of, subject
from verify.resultjson import Outcome


def render(outcome: Outcome) -> str:
    """The whole page."""
    names = [found.property for result in outcome.results for found in result.properties]
    made = environment(escape=True)
    made.filters |= {
        "first_anatomy": first_anatomy,
        "from_entry": from_entry,
        "grid": grid,
        "place": place,
    }
    made.globals |= {
        "NAMES": NAMES,
        "commands": commands,
        "compared": compared,
        "contracts_of": contracts_of,
        "loop_rows": loop_rows,
        "picture": picture,
        "span": span,
        "spans": spans,
        "stretches": stretches,
        "subject": subject,
        "touched": touched,
    }
    return made.get_template("html.j2").render(
        results=outcome.results, failures=outcome.failures, properties=list(dict.fromkeys(names))
    )
