"""Writing what the user asked to have in a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from verify.errors import InputError, reason
from verify.image.files import replace_files
from verify.report.console import silence

STANDARD_OUTPUT = "-"


def require_empty(directory: Path) -> None:
    """Raise InputError where there is something in a directory, or at its place."""
    try:
        if directory.exists() and any(directory.iterdir()):
            raise InputError(str(directory), "is not empty; name a new directory")
    except OSError as error:
        raise InputError(str(directory), f"{reason(error).lower()}; name a new directory") from None


def write_text(file: str, text: str) -> None:
    """Write `text` to a file, whole or not at all, or to standard output for "-".

    Raises InputError where it cannot be written. Devices and pipes are written to, not replaced.
    """
    if file == STANDARD_OUTPUT:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            silence(sys.stdout)
        return
    try:
        absolute = os.path.abspath(file)  # noqa: PTH100  # links in /dev lead to open files
        path = Path(os.path.realpath(file))
        special = path.exists() and not path.is_file() and not path.is_dir()
        if special or absolute.startswith(("/dev/", "/proc/")):
            with Path(file).open("a") as stream:
                stream.write(text)
            return
    except (OSError, ValueError) as error:
        raise InputError(file, f"cannot be written ({reason(error)})") from None
    try:
        replace_files(path.parent, {path.name: text.encode()})
    except InputError as error:
        raise InputError(file, error.reason) from None
