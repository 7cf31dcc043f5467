"""The project's own complete getrandoms, and their faults, ready to be executed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from binaries.build import build as compiled
from binaries.patches import Fault, load_getrandom
from binaries.products import complete, load_builds
from verify.history import Program, program_in
from verify.image import Image, images_in, open_images

BINARIES = Path(__file__).resolve().parents[2] / "binaries"
BUILDS = load_builds(BINARIES)
LAYOUTS = {
    f"{architecture}/{name}": layout
    for architecture, build in BUILDS.items()
    if build.getrandom is not None
    for name, layout in build.getrandom.programs.items()
}
"""Of each program, by its path without the suffix."""
PROGRAMS = tuple(LAYOUTS)
EACH_ONCE = tuple(name for name in PROGRAMS if name.endswith("/getrandom"))
"""The programs for one page size each."""
FAULTS = load_getrandom(BINARIES)


@cache
def program(name: str) -> Program:
    """The program of that name, say loongarch64/getrandom."""
    (image,) = open_images(BINARIES / f"{name}.so")
    return _program(image, name)


def faulty(fault: Fault) -> Program:
    """The program with that fault."""
    (image,) = open_images(BINARIES.parent / fault.path)
    return _program(image, fault.program)


def elsewhere(fault: Fault, architecture: str) -> Program:
    """The program of another architecture with a fault in what all of them share, built now."""
    build = BUILDS[architecture]
    assert build.getrandom is not None
    moved = replace(fault, architecture=architecture)
    product = complete(build, build.getrandom, fault.base, moved.path, moved)
    (image,) = images_in(compiled(product), moved.path)
    return _program(image, moved.program)


def _program(image: Image, name: str) -> Program:
    layout = LAYOUTS[name]
    return program_in(image, layout.page_size, layout.data_page)
