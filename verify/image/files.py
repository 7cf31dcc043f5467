"""Writing files whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from verify.image.errors import InputError


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path`, replacing what is there in one step.

    Raises `InputError` when that is not possible, and leaves nothing behind.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                umask = os.umask(0)
                os.umask(umask)
                os.fchmod(file.fileno(), 0o666 & ~umask)
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise InputError(str(path), f"cannot be written ({error.strerror})") from None


def make_directory(directory: Path) -> None:
    """Make `directory` and what is above it, unless it exists; `InputError` when impossible."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(str(directory), "is not a directory") from None
    except OSError as error:
        raise InputError(str(directory), f"cannot be made ({error.strerror})") from None
