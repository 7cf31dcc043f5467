"""The arguments and options of several commands that say what is read and where results go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from verify.image import Running

_FILE = typer.Argument(
    metavar="FILE",
    show_default=False,
    help="An ELF shared object or object, a kernel (vmlinux, Image, EFI zboot, bzImage), a"
    " Debian package that holds one, or - for standard input.",
)
File = Annotated[str | None, _FILE]
Files = Annotated[list[str] | None, _FILE]
IsRunning = Annotated[
    bool,
    typer.Option(
        "--running", help="Take the vDSO of the running kernel, from this process, and no FILE."
    ),
]
Function = Annotated[
    str | None,
    typer.Option(
        "--function",
        metavar="NAME|0xADDRESS",
        help="The ChaCha20 function, where it is not found by itself.",
    ),
]
Json = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write JSON to FILE; - is standard output, which then has nothing else.",
    ),
]
Directory = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="The directory, which is made.")
]


def chosen_inputs(files: Sequence[str] | None, running: bool) -> Sequence[str | Running]:
    """The files, or the running kernel; raises BadParameter for none of them, or both."""
    if running and files:
        raise typer.BadParameter(f"give a FILE ({files[0]!r}) or --running, not both")
    if not running and not files:
        raise typer.BadParameter("name a FILE, or give --running")
    return [Running()] if running else files or []
