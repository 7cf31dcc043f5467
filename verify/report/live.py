"""The line that tells on a terminal what is being decided."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

from rich.live import Live
from rich.text import Text

from verify.report.console import console_for

REFRESHES = 8
"""A second."""


@dataclass
class LiveLine:
    """Progress of one proof: `done` of `total` obligations, what is at hand, and since when."""

    label: str
    stage: str = ""
    name: str = ""
    done: int = 0
    total: int = 0
    _begin: float = field(default_factory=time.monotonic)

    def update(self, stage: str, name: str, done: int, total: int) -> None:
        """Show another obligation or stage."""
        self.stage, self.name, self.done, self.total = stage, name, done, total

    def __rich__(self) -> Text:
        count = f" {self.done}/{self.total}" if self.total else ""
        elapsed = f"{time.monotonic() - self._begin:5.1f} s"
        line = f"{self.label}:{count} {self.stage} {self.name}".rstrip()
        return Text(f"{elapsed}  {line}", no_wrap=True, overflow="ellipsis")


@contextmanager
def live_line(file: IO[str], label: str, *, quiet: bool = False) -> Iterator[LiveLine]:
    """A line that is gone at the end, and that is only there on a terminal."""
    line = LiveLine(label)
    if quiet or not file.isatty():
        yield line
        return
    with Live(line, console=console_for(file), transient=True, refresh_per_second=REFRESHES):
        yield line
