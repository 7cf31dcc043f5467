"""The options of `prove` that choose a contract, and what there is of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from verify.options import PROPERTIES_OF
from verify.verdict import Contract

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
) -> None:
    """Raise BadParameter for what there is not with a contract, and say what to do instead."""
    if contract is Contract.CHACHA20:
        for name, value in (("--page-size", page_size), ("--data-page", data_page)):
            if value is not None:
                raise typer.BadParameter(f"{name} is for getrandom: add --contract getrandom")
        return
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
