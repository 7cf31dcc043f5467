"""Markdown for a mailing list or a merge request: below 80 columns, to be read as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from verify.image.errors import printable
from verify.report.formats import caveats, reason
from verify.resultjson import Outcome

COLUMNS = 79


def fill(text: str, indent: str = "  ") -> str:
    """Text as lines short enough, those after the first indented; what cannot be broken is not."""
    return textwrap.fill(
        printable(" ".join(text.split())),
        COLUMNS,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def words(values: Sequence[int]) -> str:
    """32-bit words in hexadecimal."""
    return " ".join(f"0x{value:08x}" for value in values)


def render(outcome: Outcome) -> str:
    """The whole report."""
    environment = Environment(
        loader=PackageLoader("verify.report"),
        undefined=StrictUndefined,
        trim_blocks=False,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  # it is no HTML
    )
    environment.filters |= {
        "fill": fill,
        "words": words,
        "printable": printable,
        "reason": reason,
        "caveats": caveats,
    }
    template = environment.get_template("markdown.j2")
    return template.render(results=outcome.results, failures=outcome.failures)
