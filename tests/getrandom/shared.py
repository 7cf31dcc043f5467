"""The project's own getrandom with the kernel's data on the page for the time, as in Linux 6.12,
and faults in how it gets there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from binaries.build import build
from binaries.patches import Edit, Fault
from binaries.products import Layout as Built
from binaries.products import complete
from tests.history.programs import BUILDS
from verify.arch import by_name

if TYPE_CHECKING:
    from pathlib import Path

    from verify.arch.kerneldata import Layout

RELEASE = (6, 12)
NAME = "getrandom_shared"
ARCHITECTURES = ("arm64", "s390x", "x86_64")
"""Those whose getrandom is C alone."""

_INSIDE = "clock_mode == TIME_NAMESPACE"
_CLOCK_MODE = "__ehdr_start - CLOCK_MODE"
_WITHIN = f"ONCE(*(const u32 *)({_CLOCK_MODE})) == TIME_NAMESPACE"


def _fault(name: str, description: str, old: str, new: str) -> Fault:
    edits = (Edit(old, new),)
    return Fault(name, "", NAME, ("fallback",), description, edits, file="getrandom.c")


FAULTS = (
    _fault(
        "namespace-ignored",
        "the page of a time namespace is read for the data page: nothing is ever ready there",
        _INSIDE,
        f"0 && {_INSIDE}",
    ),
    _fault(
        "namespace-everywhere",
        "the page behind the data page is read in any case",
        _INSIDE,
        f"1 || {_INSIDE}",
    ),
    _fault(
        "namespace-reversed",
        "the one page is read for the other",
        _INSIDE,
        _INSIDE.replace("==", "!="),
    ),
    _fault(
        "wrong-direction",
        "inside a time namespace the page in front of the namespace's is read",
        "__ehdr_start - RNG_DATA_INSIDE",
        "__ehdr_start - 2 * RNG_DATA + RNG_DATA_INSIDE",
    ),
    _fault(
        "clock-mode-elsewhere",
        "what is taken for clock_mode is something else",
        _CLOCK_MODE,
        f"{_CLOCK_MODE} + 4",
    ),
    _fault(
        "flags-lost-inside",
        "inside a time namespace the kernel does not get the flags",
        "rng_data(), buffer, len, flags,",
        f"rng_data(), buffer, len, {_WITHIN} ? 0 : flags,",
    ),
    _fault(
        "length-changed-inside",
        "inside a time namespace, and nowhere else, a call gives a byte less",
        "rng_data(), buffer, len, flags,",
        f"rng_data(), buffer, len - ({_WITHIN}), flags,",
    ),
)


def layout(architecture: str) -> Layout:
    """Where Linux 6.12 has the data."""
    port = by_name(architecture).getrandom_port
    assert port is not None
    found = port.layout(release=RELEASE)
    assert found is not None
    return found


def built(architecture: str, directory: Path, fault: Fault | None = None) -> Path:
    """The program of an architecture, with a fault or without, in a directory."""
    given = layout(architecture)
    assert given.namespace is not None
    version = RELEASE[0] << 16 | RELEASE[1] << 8
    as_built = Built(
        given.page_bytes,
        given.data_page,
        given.namespace.clock_mode,
        given.namespace.data_page,
        version,
    )
    made = BUILDS[architecture]
    assert made.getrandom is not None
    getrandom = replace(made.getrandom, programs={NAME: as_built})
    name = NAME if fault is None else fault.name
    product = complete(
        made,
        getrandom,
        NAME,
        f"binaries/{architecture}/{name}.so",
        None if fault is None else replace(fault, architecture=architecture),
    )
    path = directory / f"{name}.so"
    path.write_bytes(build(product))
    return path
