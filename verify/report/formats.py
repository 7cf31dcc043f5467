"""What the reports in different formats have in common."""

from __future__ import annotations

from verify.errors import printable
from verify.verdict import Check, PropertyResult, Result, Verdict


def title(result: Result) -> str:
    """The file and the function, on one line."""
    return f"{printable(result.target.source)}: {printable(result.target.function)}"


def reason(found: PropertyResult) -> str:
    """Why a property is not PROVED, on one line; "" if it is."""
    if found.verdict is Verdict.PROVED:
        return ""
    shown = found.counterexample
    variant = f" ({found.variant})" if found.variant else ""
    if shown is not None:
        return printable(
            f"{shown.what}: expected {shown.expected}, got {shown.actual}{variant}"
            if shown.expected or shown.actual
            else f"{shown.what}{variant}"
        )
    return printable(f"{found.reason or 'no reason is known'}{variant}")


def failing(found: PropertyResult) -> tuple[Check, ...]:
    """The obligations of a property that do not hold."""
    return tuple(check for check in found.checks if check.verdict is Verdict.REFUTED)


def caveats(result: Result) -> str:
    """The names of what the verdicts rest on."""
    return ", ".join(caveat.value for caveat in result.caveats) or "none"
