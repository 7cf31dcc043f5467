"""The options of `prove` for its proof cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from verify.cache import ProofCache

DIRECTORY = "VDSO_VERIFY_CACHE"
"""The variable that names the cache where --cache does not."""
SECRET = "VDSO_VERIFY_CACHE_KEY"  # noqa: S105  # the name of a variable
"""The variable with the secret without which nobody can make an entry that is believed."""

Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        envvar=DIRECTORY,
        show_default=False,
        help="Keep proofs in DIR, which is made, and prove only what is not there: of what is"
        " there, the certificate is checked, and another solver decides its obligations anew."
        f" Seals are made with ${SECRET}, if that is set.",
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Prove everything, and keep nothing.")]


def opened(directory: Path | None, *, no_cache: bool, both_lifters: bool) -> ProofCache | None:
    """The proof cache that is asked for, if one is; raises BadParameter where it cannot be used."""
    if directory is None or no_cache:
        return None
    if both_lifters:
        raise typer.BadParameter(
            "a cache holds certificates, which are of one lifter: add --no-cache, or leave out"
            " --both-lifters"
        )
    if directory.exists() and not directory.is_dir():
        raise typer.BadParameter(f"the cache {str(directory)!r} is not a directory")
    from verify.cache import ProofCache

    return ProofCache(directory, os.environb.get(SECRET.encode(), b""))
