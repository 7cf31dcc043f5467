"""The project's own complete getrandoms, and their faults, ready to be executed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from binaries.patches import Fault, load_getrandom
from binaries.products import load_builds
from verify.history import Program, program_in
from verify.image import open_images

BINARIES = Path(__file__).resolve().parents[2] / "binaries"
LAYOUTS = {
    f"{architecture}/{name}": layout
    for architecture, build in load_builds(BINARIES).items()
    if build.getrandom is not None
    for name, layout in build.getrandom.programs.items()
}
"""Of each program, by its path without the suffix."""
PROGRAMS = tuple(LAYOUTS)
FAULTS = load_getrandom(BINARIES)


@cache
def program(name: str) -> Program:
    """The program of that name, say loongarch64/getrandom."""
    return _program(BINARIES / f"{name}.so", name)


def faulty(fault: Fault) -> Program:
    """The program with that fault."""
    return _program(BINARIES.parent / fault.path, fault.program)


def _program(path: Path, name: str) -> Program:
    (image,) = open_images(path)
    layout = LAYOUTS[name]
    return program_in(image, layout.page_size, layout.data_page)
