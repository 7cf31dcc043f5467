"""The engine that reads an architecture's code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.lift.angr_import import import_angr

if TYPE_CHECKING:
    from verify.arch import Architecture
    from verify.lift.engine import CodeReader, Engine


def engine_for(architecture: Architecture, code: CodeReader) -> Engine:
    """A new engine over the image that `code` reads; imports angr, which takes a second."""
    import_angr()
    if architecture.lifter.engine == "pcode":
        from verify.lift.pcode import PcodeEngine

        return PcodeEngine(architecture, code)
    from verify.lift.vex import VexEngine

    return VexEngine(architecture, code)
