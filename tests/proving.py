"""Prove the project's own binaries in tests."""

from __future__ import annotations

from pathlib import Path

from verify.batch import targets_in
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.target import Target
from verify.verdict import Result

BINARIES = Path(__file__).resolve().parents[1] / "binaries"
STYLES = tuple(
    f"{architecture}/{style}.so"
    for architecture in ("loongarch64", "powerpc64le", "riscv64", "x86_64")
    for style in ("looped", "unrolled")
)
"""The good programs, with their symbols."""


def target_of(name: str) -> Target:
    """The function under proof in the file of that name below `binaries`."""
    (target,) = targets_in(str(BINARIES / name), None)
    assert isinstance(target, Target), target
    return target


def proved(name: str) -> Result:
    """What the harness says of it."""
    import_angr()
    from verify.run import prove

    return prove(target_of(name), Options())
