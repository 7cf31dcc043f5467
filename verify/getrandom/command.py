"""The command `prove-getrandom`; `register` adds it to the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from verify.errors import InputError
from verify.image import images_of, read_input
from verify.locate import find_target
from verify.report.console import console_for
from verify.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.getrandom.setting import Layout
    from verify.target import Target

EXIT_UNKNOWN = 3


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("prove-getrandom")(prove_getrandom_command)


def prove_getrandom_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", show_default=False, help="Files as for prove."),
    ],
    *,
    page_size: Annotated[
        int | None,
        typer.Option(
            "--page-size",
            metavar="BYTES",
            min=256,
            help="The size of a page. Default: that of the architecture's kernels.",
        ),
    ] = None,
    data_page: Annotated[
        int | None,
        typer.Option(
            "--data-page",
            metavar="BYTES",
            min=0,
            help="How many bytes in front of the image the kernel's data for getrandom lie."
            " Default: as in the architecture's kernels.",
        ),
    ] = None,
) -> int:
    """Prove the whole getrandom equal to its specification.

    The ChaCha20 that it calls is taken as its contract says; prove proves that. Says what is proved
    of LoongArch; of other architectures nothing is.

    Exit code: 0 each property that is decided is PROVED; 3 one is UNKNOWN; 2 bad input or usage.
    """
    from verify.lift.angr_import import import_angr

    targets = [target for file in files for target in _targets(file)]
    import_angr()
    from verify.getrandom.prove import CAVEATS, NOT_DECIDED, prove_getrandom

    console = console_for(sys.stdout)
    proved = True
    for target, entry, name in targets:
        layout = _layout(target, page_size, data_page)
        results = prove_getrandom(target, entry, layout)
        console.print(f"{target.source}: {name}, {target.architecture.title}", soft_wrap=True)
        console.print(f"  image SHA-256 {target.image_sha256}", soft_wrap=True)
        if layout is not None:
            console.print(
                f"  pages of {layout.page_bytes} bytes, data {layout.data_page} bytes in front"
            )
        for one in results:
            proved &= one.verdict is Verdict.PROVED
            line = f"  {one.property:<11} {one.verdict.value:<8} {one.title}"
            console.print(line, soft_wrap=True)
            if one.reason:
                console.print(f"  {'':<20} {one.reason}", soft_wrap=True)
        console.print(f"  not decided: {', '.join(NOT_DECIDED)}")
        console.print(f"  rests on: {', '.join(one.value for one in CAVEATS)}", soft_wrap=True)
    return 0 if proved else EXIT_UNKNOWN


def _targets(file: str) -> Iterator[tuple[Target, int, str]]:
    """The ChaCha20 of each image of a file, with the getrandom of that image."""
    content = read_input(file)
    for image in images_of(content):
        function = image.elf.getrandom
        if function is None:
            raise InputError(image.name, "it exports no getrandom")
        target = find_target(image, content.source, content.sha256)
        yield target, function.address, function.name


def _layout(target: Target, page_size: int | None, data_page: int | None) -> Layout | None:
    """What was asked for, with the architecture's own in place of what was not."""
    from verify.getrandom.setting import Layout

    port = target.architecture.getrandom_port
    if port is None:
        return None
    return Layout(
        port.page_bytes if page_size is None else page_size,
        port.data_page if data_page is None else data_page,
    )
