"""The text reports of the samples; `python -m tests.report.render` writes the golden files."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

from tests.report import samples
from verify.report.console import console_for
from verify.report.html import render
from verify.report.text import print_result
from verify.resultjson import Outcome
from verify.verdict import Result

GOLDEN = Path(__file__).parent / "golden"


def report(result: Result) -> str:
    """The report as a pipe gets it, without the blanks at the ends of lines."""
    file = io.StringIO()
    print_result(console_for(file), result)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def page() -> str:
    """The text of the page on two functions, a line for each row of a table and each paragraph."""
    text = render(Outcome((samples.PROVED, samples.REFUTED)))
    text = re.sub(r"<style>.*?</style>|\s*\n\s*", " ", text, flags=re.DOTALL)
    text = re.sub(r"</(td|th)>", " | ", text)
    text = re.sub(r"</(tr|p|h\d|caption|li|pre|title|desc|text|figcaption|dt|dd)>", "\n", text)
    lines = (html.unescape(re.sub(r"<[^>]*>", " ", line)) for line in text.split("\n"))
    return "".join(f"{line}\n" for line in (" ".join(one.split()) for one in lines) if line)


def main() -> None:
    """Write all golden files anew."""
    for name, result in samples.ALL.items():
        (GOLDEN / f"{name}.txt").write_text(report(result))
    (GOLDEN / "page.txt").write_text(page())


if __name__ == "__main__":
    main()
