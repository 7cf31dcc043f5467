"""The text reports of the samples; `python -m tests.report.render` writes the golden files."""

from __future__ import annotations

import io
from pathlib import Path

from tests.report import samples
from verify.report.console import console_for
from verify.report.text import print_result
from verify.verdict import Result

GOLDEN = Path(__file__).parent / "golden"


def report(result: Result) -> str:
    """The report as a pipe gets it, without the blanks at the ends of lines."""
    file = io.StringIO()
    print_result(console_for(file), result)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def main() -> None:
    """Write all golden files anew."""
    for name, result in samples.ALL.items():
        (GOLDEN / f"{name}.txt").write_text(report(result))


if __name__ == "__main__":
    main()
