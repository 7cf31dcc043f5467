"""What `prove` shows while it runs: errors and progress on standard error, reports on standard
output."""

from __future__ import annotations

import sys
import traceback
from contextlib import ExitStack
from pathlib import PurePath
from typing import TYPE_CHECKING

from verify.errors import printable
from verify.report.console import console_for
from verify.report.live import LiveLine, live_line
from verify.report.text import print_one_line, print_result, print_totals
from verify.resultjson import Failed, Outcome

if TYPE_CHECKING:
    from verify.progress import Progress
    from verify.resultjson import Failure
    from verify.target import Target
    from verify.verdict import Result


def complain(failure: Failure, *, debug: bool = False) -> None:
    """One line on standard error; for a failure of the harness, with `debug`, the traceback of the
    exception being handled."""
    if debug and failure.kind is Failed.INTERNAL:
        traceback.print_exc()
    print(f"vdso-verify: {failure}", file=sys.stderr)  # noqa: T201


class Display:
    """Listens to a batch.

    `quiet` shows one line per function instead of a report, `silent` nothing on standard output.
    """

    def __init__(self, *, quiet: bool, silent: bool, debug: bool) -> None:
        self._quiet = quiet
        self._silent = silent
        self._debug = debug
        self._console = console_for(sys.stdout)
        self._live = ExitStack()
        self._line = LiveLine("")

    def started(self, target: Target, number: int, total: int) -> None:
        """Show the live line."""
        label = printable(PurePath(target.source).name)
        if total > 1:
            label = f"[{number} of {total}] {label}"
        self._line = self._live.enter_context(live_line(sys.stderr, label, quiet=self._quiet))

    def progressed(self, progress: Progress) -> None:
        """Update the live line."""
        self._line.update(progress.stage, progress.name, progress.done, progress.total)

    def finished(self, result: Result) -> None:
        """Print the report in place of the live line."""
        self._live.close()
        if self._silent:
            return
        if self._quiet:
            print_one_line(self._console, result)
        else:
            print_result(self._console, result)
            self._console.print()

    def noted(self, source: str, note: str) -> None:
        """Print the note above the live line."""
        print(f"vdso-verify: {printable(source)}: {note}", file=sys.stderr)  # noqa: T201

    def failed(self, failure: Failure) -> None:
        """Print the error in place of the live line."""
        self._live.close()
        complain(failure, debug=self._debug)

    def ended(self, outcome: Outcome) -> None:
        """Sum up several functions."""
        if len(outcome.results) > 1 and not self._silent and not self._quiet:
            print_totals(self._console, outcome.results, len(outcome.failures))
