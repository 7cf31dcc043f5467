"""The project's own complete getrandoms, and their faults, ready to be executed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from binaries.build import build as compiled
from binaries.patches import Fault, getrandom_faults_for, load_getrandom
from binaries.products import complete, load_builds
from verify.arch.kerneldata import Layout
from verify.history import Program, program_in
from verify.image import Image, images_in, open_images

BINARIES = Path(__file__).resolve().parents[2] / "binaries"
BUILDS = load_builds(BINARIES)
LAYOUTS = {
    f"{architecture}/{name}": Layout(layout.page_size, layout.data_page)
    for architecture, build in BUILDS.items()
    if build.getrandom is not None
    for name, layout in build.getrandom.programs.items()
}
"""Of each program, by its path without the suffix."""
PROGRAMS = tuple(LAYOUTS)
EACH_ONCE = tuple(name for name in PROGRAMS if name.endswith("/getrandom"))
"""The programs for one page size each."""
FAULTS = load_getrandom(BINARIES)
"""Those of which there are binaries."""
FAULTS_ELSEWHERE = tuple(
    fault
    for architecture in sorted(BUILDS.keys() - {fault.architecture for fault in FAULTS})
    for fault in getrandom_faults_for(BINARIES, architecture)
)
"""Those that other architectures can have; they are built when they are needed."""


def named(fault: Fault) -> str:
    """Architecture and name of a fault."""
    return f"{fault.architecture}/{fault.name}"


@cache
def program(name: str) -> Program:
    """The program of that name, say loongarch64/getrandom."""
    (image,) = open_images(BINARIES / f"{name}.so")
    return _program(image, name)


def faulty(fault: Fault) -> Program:
    """The program with that fault."""
    (image,) = open_images(BINARIES.parent / fault.path)
    return _program(image, fault.program)


def elsewhere(fault: Fault) -> Program:
    """The program with a fault of which there is no binary, built now."""
    build = BUILDS[fault.architecture]
    assert build.getrandom is not None
    product = complete(build, build.getrandom, fault.base, fault.path, fault)
    (image,) = images_in(compiled(product), fault.path)
    return _program(image, fault.program)


def _program(image: Image, name: str) -> Program:
    layout = LAYOUTS[name]
    return program_in(image, layout)
