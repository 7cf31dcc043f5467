"""Prove the project's own binaries in tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from verify.batch import targets_in
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.target import Target
from verify.verdict import Result

if TYPE_CHECKING:
    from verify.prove.segments import Segments

BINARIES = Path(__file__).resolve().parents[1] / "binaries"
PROGRAMS = tuple(
    sorted(
        path.relative_to(BINARIES).as_posix()
        for path in BINARIES.glob("*/*.so")
        if not path.name.endswith(".stripped.so")
    )
)
"""The good programs, with their symbols."""


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
