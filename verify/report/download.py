"""The progress bar of a download."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TransferSpeedColumn,
)

from verify.report.console import console_for


@contextmanager
def download_bar(file: IO[str]) -> Iterator[Callable[[str, int, int | None], None]]:
    """What to call with a description, the bytes done and those in all (None: not known).

    On a terminal there is one bar for each description, elsewhere one line.
    """
    console = console_for(file)
    bars: dict[str, TaskID] = {}
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
        disable=not file.isatty(),
    ) as progress:

        def show(description: str, done: int, total: int | None) -> None:
            if description not in bars:
                bars[description] = progress.add_task(description, total=total)
                if not file.isatty():
                    console.print(description)
            progress.update(bars[description], completed=done, total=total)

        yield show
