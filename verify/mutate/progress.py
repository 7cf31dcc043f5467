"""How far a campaign is, on standard error where that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from verify.mutate.model import Judgement
from verify.report.console import console_for
from verify.verdict import Verdict


class Progress:
    """A bar with the rate, an estimate of the time left, and what was found so far."""

    def __init__(self, total: int, already: int) -> None:
        self._bar = Bar(
            TextColumn("mutants"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.fields[found]}"),
            console=console_for(sys.stderr),
            disable=not sys.stderr.isatty(),
            transient=True,
        )
        self._task = self._bar.add_task("", total=total, completed=already, found="", rate="")
        self._proved = self._unknown = 0

    def done(self, judgement: Judgement) -> None:
        """One more is judged."""
        self._proved += judgement.verdict is Verdict.PROVED
        self._unknown += judgement.verdict is Verdict.UNKNOWN
        task = self._bar.tasks[0]
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        found = f"{self._proved} proved, {self._unknown} unknown"
        self._bar.update(self._task, advance=1, rate=rate, found=found)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
