"""Terminals, pipes and files as places to write to."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import IO

from rich.console import Console


class _Console(Console):
    """A console whose reader may go away: what follows is then written to nowhere, and the run
    goes on to its exit code."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        silence(self.file)


def console_for(file: IO[str]) -> Console:
    """A console that prints text as it is. Colours are for terminals, and not with NO_COLOR."""
    return _Console(file=file, markup=False, highlight=False, emoji=False)


def silence(file: IO[str]) -> None:
    """Send what is still to be written to a standard stream to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, file.fileno())
    os.close(nowhere)


def prepare_streams() -> None:
    """Let the standard streams take any text, and let output be closed."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _nowhere() -> IO[str]:
    return Path(os.devnull).open("w")
