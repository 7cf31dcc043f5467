"""The command `cost`; `register` adds it to the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from verify.errors import InputError
from verify.fileoption import Json
from verify.image import images_of, read_input
from verify.output import STANDARD_OUTPUT, write_text
from verify.report.console import console_for
from verify.report.display import complain
from verify.resultjson import Failed, Failure

if TYPE_CHECKING:
    from verify.cost.model import Cost

EXIT_UNCOUNTED = 3


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("cost")(cost_command)


def cost_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", show_default=False, help="Files as for prove."),
    ],
    *,
    json: Json = None,
) -> int:
    """Count the instructions that a call of getrandom takes.

    Where no system call is needed, and with those of ChaCha20: for 4, 8, 16, 32 and 256 bytes from
    each position in the batch, each call executed under QEMU. A formula that is shown gives
    the number of each.

    Exit code: 0 all was counted; 2 bad input or usage; 3 something could not be counted, say
    because QEMU is missing.
    """
    from verify.cost.cost import cost_of
    from verify.cost.measure import Uncounted
    from verify.cost.report import print_costs, to_json
    from verify.history.layout import Unplaced
    from verify.qemu import QemuError

    costs: list[Cost] = []
    failures: list[tuple[str, str]] = []
    contents = [read_input(file) for file in files]
    images = [(image, content.source) for content in contents for image in images_of(content)]
    for image, _ in images:
        if image.elf.getrandom is None:
            raise InputError(image.name, "it exports no getrandom")
    with console_for(sys.stderr).status("") as status:
        for image, source in images:
            status.update(f"{source}: {image.name}")
            try:
                costs.append(cost_of(image, source))
            except (QemuError, Uncounted, Unplaced) as error:
                inside = f": {image.path[-1]}" if len(image.path) > 1 else ""
                failures.append((f"{source}{inside}", f"getrandom is not counted: {error}"))
                complain(Failure(Failed.INPUT, *failures[-1]))
    if json != STANDARD_OUTPUT and costs:
        print_costs(console_for(sys.stdout), costs)
    if json is not None:
        write_text(json, to_json(costs, failures))
    return EXIT_UNCOUNTED if failures else 0
