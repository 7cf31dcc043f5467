"""The templates of reports, and what they are filled with."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from verify.errors import printable
from verify.report.environment import placed
from verify.report.formats import caveats, reason, title
from verify.report.theorem import inputs
from verify.verdict import Result

COLUMNS = 79
"""Of a line of text."""


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


def verdict_of(result: Result, name: str) -> str:
    """The verdict of a property; "" if there is none."""
    return next((p.verdict.value for p in result.properties if p.property == name), "")


def environment(*, escape: bool) -> Environment:
    """The templates; `escape` for HTML."""
    made = Environment(
        loader=PackageLoader("verify.report"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=escape,  # noqa: S701  # Markdown is none
    )
    made.filters |= {
        "caveats": caveats,
        "placed": placed,
        "fill": fill,
        "inputs": inputs,
        "printable": printable,
        "reason": reason,
        "title": title,
        "verdict_of": verdict_of,
        "words": words,
    }
    return made
