"""What a result says of a target besides the verdicts: its bytes, the tools."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from verify import __version__
from verify.qemu import available
from verify.verdict import TargetSummary

if TYPE_CHECKING:
    from verify.prove.segments import Segments
    from verify.target import Target


def target_summary(target: Target, segments: Segments | None) -> TargetSummary:
    """What the result says of the bytes. A function without a size gets the one of its code."""
    function = target.function
    if not function.size and segments is not None:
        size = segments.flow.end - function.address
        target = replace(target, function=replace(function, size=size))
    return TargetSummary(
        target.source,
        target.sha256,
        target.path,
        target.image_sha256,
        target.build_id,
        target.architecture.name,
        function.name,
        function.address,
        target.function.size,
        target.function_sha256,
        function.located,
    )


def tool_versions(target: Target, *, executed: bool) -> dict[str, str]:
    """Name to version of everything that the verdicts rest on; QEMU, too, if it `executed` a
    counterexample."""
    lifter = {"pcode": "pypcode", "vex": "pyvex"}[target.architecture.lifter.engine]
    tools = {"vdso-verify": __version__}
    tools |= {name: version(name) for name in ("angr", lifter, "z3-solver")}
    if executed:
        tools["qemu"] = available(target.architecture.name) or ""
    return tools
