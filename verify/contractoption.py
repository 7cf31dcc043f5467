"""The options of `prove` that choose a contract, and what there is of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from verify.options import PROPERTIES_OF
from verify.verdict import Contract


def _release(text: str) -> tuple[int, int]:
    """The first two numbers of a version of Linux; raises BadParameter."""
    found = re.fullmatch(r"(\d{1,4})\.(\d{1,4})(\.\d+)*", text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no release of Linux: name it as in 6.12")
    return int(found[1]), int(found[2])


ChosenContract = Annotated[
    Contract,
    typer.Option(
        "--contract",
        help="What to prove: that blocks are ChaCha20's, or that the exported getrandom around it"
        " does what its specification says.",
    ),
]
_LISTS = "; ".join(
    f"with --contract {contract.value} of {', '.join(names)}"
    for contract, names in PROPERTIES_OF.items()
)
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property", metavar="NAME", help=f"Only this property, {_LISTS}; can be repeated."
    ),
]
PageSize = Annotated[
    int | None,
    typer.Option(
        "--page-size",
        metavar="BYTES",
        min=256,
        help="For getrandom, the size of a page. Default: that of the architecture's kernels.",
    ),
]
DataPage = Annotated[
    int | None,
    typer.Option(
        "--data-page",
        metavar="BYTES",
        min=0,
        help="For getrandom, how many bytes in front of the image the kernel's data for it lie."
        " Default: as in the architecture's kernels.",
    ),
]

Linux = Annotated[
    tuple[int, int] | None,
    typer.Option(
        "--linux",
        metavar="RELEASE",
        parser=_release,
        help="For getrandom, the release of Linux that has its data where they lie, say 6.12."
        " Default: that which the file's note names, or today's.",
    ),
]


def chosen_properties(contract: Contract, named: Sequence[str] | None) -> tuple[str, ...]:
    """The properties asked for, or all; raises BadParameter for one that there is not."""
    known = PROPERTIES_OF[contract]
    for name in named or ():
        if name not in known:
            of = "" if contract is Contract.CHACHA20 else f" of {contract.value}"
            raise typer.BadParameter(f"no property {name!r}; properties{of} are {', '.join(known)}")
    return tuple(name for name in known if name in (named or known))


def require_possible(
    contract: Contract,
    *,
    certificate: Path | None,
    cached: bool,
    page_size: int | None,
    data_page: int | None,
    linux: tuple[int, int] | None,
) -> None:
    """Raise BadParameter for what there is not with a contract, and say what to do instead."""
    if contract is Contract.CHACHA20:
        for name, value in (
            ("--page-size", page_size),
            ("--data-page", data_page),
            ("--linux", linux),
        ):
            if value is not None:
                raise typer.BadParameter(f"{name} is for getrandom: add --contract getrandom")
        return
    if linux is not None and data_page is not None:
        raise typer.BadParameter("--data-page and --linux both say where the data lie: leave one")
    if certificate is not None:
        raise typer.BadParameter(
            "there are no certificates of getrandom: leave out --certificate, or --contract to"
            " certify the ChaCha20 that it calls"
        )
    if cached:
        raise typer.BadParameter(
            "the proof cache holds certificates, of which there are none of getrandom: add"
            " --no-cache"
        )
