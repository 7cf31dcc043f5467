"""Several functions side by side: what a reviewer compares besides the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from verify.anatomy import Anatomy
from verify.report.annotated import loop_title
from verify.verdict import Result


def first_anatomy(result: Result) -> Anatomy | None:
    """That of the first variant, which has the fewest patches; None where it is not known."""
    return result.anatomies[0] if result.anatomies else None


def compared(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Rows of a table: name, and one cell for each result; empty where it is not known."""
    return [(name, [tell(result) for result in results]) for name, tell in _FACTS.items()]


def _instructions(result: Result) -> str:
    anatomy = first_anatomy(result)
    return str(len(anatomy.instructions)) if anatomy else ""


def _frame(result: Result) -> str:
    anatomy = first_anatomy(result)
    if anatomy is None:
        return ""
    return "not constant" if anatomy.frame is None else f"{-anatomy.frame} bytes"


def _loops(result: Result) -> str:
    return "; ".join(map(loop_title, result.loops))


def _left(result: Result) -> str:
    if not result.residues:
        return ""
    dirty = [one.register for one in result.residues if one.kind in ("key-dependent", "unknown")]
    return ", ".join(dict.fromkeys(dirty)) or "none"


def _stack(result: Result) -> str:
    if not any(found.property == "stack" for found in result.properties):
        return ""
    kinds = [write.kind for write in result.stack_writes]
    each = (f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    return ", ".join(each) or "none"


_FACTS: dict[str, Callable[[Result], str]] = {
    "architecture": lambda result: result.target.architecture,
    "size": lambda result: f"{result.target.size} bytes",
    "instructions": _instructions,
    "loops": _loops,
    "stack frame": _frame,
    "stack writes": _stack,
    "registers that hold a secret at return": _left,
}
