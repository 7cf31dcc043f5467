"""Writing files whole or not at all."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from verify.errors import InputError, reason


def make_directory(directory: Path) -> None:
    """Make `directory` and what is above it, unless it exists; `InputError` when impossible."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(str(directory), "is not a directory") from None
    except (OSError, ValueError) as error:
        raise InputError(str(directory), f"cannot be made ({reason(error)})") from None


def replace_files(directory: Path, contents: Mapping[str, bytes]) -> None:
    """Write each content to the file of its name in `directory`, replacing what is there.

    All are complete on disk before the first takes its name. Raises `InputError` when one cannot
    be written, and leaves nothing behind then.
    """
    for name in contents:
        if (directory / name).is_dir():
            raise InputError(str(directory / name), "cannot be written (it is a directory)")
    staged: list[tuple[Path, Path]] = []
    target = directory
    try:
        for name, content in contents.items():
            target = directory / name
            descriptor, temporary = tempfile.mkstemp(prefix=f".{name[:32]}.", dir=directory)
            staged.append((Path(temporary), target))
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                umask = os.umask(0)
                os.umask(umask)
                os.fchmod(file.fileno(), 0o666 & ~umask)
        for path, target in staged:
            path.replace(target)
    except (OSError, ValueError) as error:
        raise InputError(str(target), f"cannot be written ({reason(error)})") from None
    finally:
        for path, _ in staged:
            path.unlink(missing_ok=True)
