"""Prove the project's own binaries in tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from binaries.patches import load
from binaries.products import load_builds
from verify.batch import targets_in
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.target import Target
from verify.verdict import Result

if TYPE_CHECKING:
    from verify.prove.segments import Segments

BINARIES = Path(__file__).resolve().parents[1] / "binaries"
COMPLETE = frozenset(
    f"{build.architecture}/{name}.so"
    for build in load_builds(BINARIES).values()
    if build.getrandom is not None
    for name in build.getrandom.programs
)
"""The complete getrandoms, which have the ChaCha20 of the looped programs."""
PROGRAMS = tuple(
    name
    for name in sorted(
        path.relative_to(BINARIES).as_posix()
        for path in BINARIES.glob("*/*.so")
        if not path.name.endswith(".stripped.so")
    )
    if name not in COMPLETE
)
"""The good programs, each once and with its symbols."""


def _thorough() -> frozenset[str]:
    """The faulty binaries that every run of the tests looks at: all of two architectures, and of
    each other the first fault that breaks each property, but for `termination`, which takes
    seconds to show."""
    found: dict[tuple[str, str], str] = {}
    for fault in load(BINARIES):
        main = fault.architecture in ("loongarch64", "powerpc64le")
        breaks = fault.refuted_by[0]
        if main or breaks != "termination":
            key = (fault.architecture, fault.name if main else breaks)
            found.setdefault(key, fault.path)
    return frozenset(found.values())


THOROUGH = _thorough()


def every_fault(path: str) -> tuple[pytest.MarkDecorator, ...]:
    """The marks of a test of the binary at that path, which is relative to the top."""
    chosen = "/faults/" not in path or path in THOROUGH
    return () if chosen else (pytest.mark.every_fault,)


def target_of(name: str) -> Target:
    """The function under proof in the file of that name below `binaries`."""
    (target,) = targets_in(str(BINARIES / name), None)
    assert isinstance(target, Target), target
    return target


@cache
def segments_of_program(name: str) -> Segments:
    """The segments of the function in the file of that name below `binaries`."""
    import_angr()
    from verify.lift.select import engine_for
    from verify.prove.segments import segments_of

    target = target_of(name)
    return segments_of(target, engine_for(target.architecture, target.code))


def proved(name: str) -> Result:
    """What the harness says of it."""
    import_angr()
    from verify.run import prove

    return prove(target_of(name), Options())
