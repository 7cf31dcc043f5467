"""The report on a proof, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from verify.errors import printable
from verify.report.counterexample import counterexample_text
from verify.report.environment import environment_parts
from verify.verdict import (
    AS_BUILT,
    AS_RUNNING,
    Caveat,
    Check,
    Contract,
    PropertyResult,
    Residue,
    Result,
    StackWrite,
    TargetSummary,
    VariantSummary,
    Verdict,
)

STYLES = {
    Verdict.PROVED: "green",
    Verdict.REFUTED: "bold red",
    Verdict.UNKNOWN: "yellow",
    Verdict.VACUOUS: "yellow",
}
PUBLIC = ("callee-saved", "pointer", "public", "constant")
"""Kinds of stack writes that are not set off."""
QUIET = ("unchanged", "zero")
"""Kinds of registers at return that are counted only."""
DIRTY = ("key-dependent", "unknown")
"""Kinds of registers at return that are set off."""
SHOWN_CHECKS = 5
"""Obligations of one property that are listed when they do not hold."""


def print_result(console: Console, result: Result) -> None:
    """The verdicts, why they are not PROVED, the tables of the stack and of the registers at
    return, and on one line what the verdicts rest on."""
    _print_target(console, result.target)
    console.print(_verdicts(result.properties))
    if all(found.seconds is None for found in result.properties):
        console.print(f"all of them together: {result.seconds:.2f} s")
    print_variants(console, result.variants)
    for property_result in result.properties:
        _print_details(console, property_result, result.target)
    for property_result in result.properties:
        if property_result.property == "stack" and result.contract is Contract.CHACHA20:
            _print_stack(console, property_result.verdict, result)
    _print_residues(console, result.residues)
    if result.findings:
        console.print()
    for finding in result.findings:
        console.print(printable(finding), soft_wrap=True)
    console.print()
    console.print(_footing(result), soft_wrap=True)


def print_one_line(console: Console, result: Result) -> None:
    """The file, the function and the worst verdict."""
    target = result.target
    line = Text(f"{printable(target.source)}: {printable(target.function)}: ")
    line.append(_verdict(result.verdict))
    if Caveat.READING_CACHED in result.caveats:
        line.append(" (from the proof cache)")
    console.print(line, soft_wrap=True)


def print_totals(console: Console, results: Sequence[Result], errors: int) -> None:
    """How many functions there were of each verdict."""
    counts = Counter(result.verdict for result in results)
    line = Text(f"{len(results)} functions: ")
    line.append(
        Text(", ").join(
            Text(f"{counts[verdict]} ").append(_verdict(verdict))
            for verdict in Verdict
            if counts[verdict]
        )
    )
    if errors:
        line.append(f"; {errors} errors")
    console.print(line)


def _print_target(console: Console, target: TargetSummary) -> None:
    heading = Text(printable(target.source), style="bold")
    heading.append(f"  {printable(target.function)}  {target.architecture}", style="not bold")
    console.print(heading, soft_wrap=True)
    if len(target.path) > 1:
        console.print(f"  in {printable(' > '.join(target.path))}", soft_wrap=True)
    console.print()


def _plain_table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="underline")


def _verdict(verdict: Verdict) -> Text:
    return Text(verdict.value, style=STYLES[verdict])


def _verdicts(properties: Sequence[PropertyResult]) -> Table:
    table = _plain_table()
    table.add_column("property")
    table.add_column("verdict")
    table.add_column("obligations", justify="right")
    timed = any(result.seconds is not None for result in properties)
    if timed:
        table.add_column("time", justify="right")
    for result in properties:
        time = "" if result.seconds is None else f"{result.seconds:.2f} s"
        row: list[str | Text] = [result.property, _verdict(result.verdict), str(len(result.checks))]
        table.add_row(*row, *([time] if timed else []))
    return table


def _print_details(console: Console, result: PropertyResult, target: TargetSummary) -> None:
    failing = [check for check in result.checks if check.verdict is not Verdict.PROVED]
    if result.counterexample:
        # What it leaves undecided behind it is no news.
        failing = [check for check in failing if check.verdict is Verdict.REFUTED]
    executed = result.history or result.pair
    if not (failing or result.findings or result.reason or result.counterexample):
        return
    console.print()
    console.print(
        Text(f"{result.property} ").append(_verdict(result.verdict)).append(f": {result.title}")
    )
    shown_below = result.counterexample.what if result.counterexample else ""
    lines = [result.reason] if result.reason not in ("", shown_below) else []
    if result.variant not in ("", AS_BUILT, AS_RUNNING):
        lines.insert(0, f"when the kernel has patched it: {result.variant}")
    lines += (*(executed.account if executed else ()), *result.findings)
    lines += map(_failing, failing[:SHOWN_CHECKS])
    if len(failing) > SHOWN_CHECKS:
        lines.append(f"and {len(failing) - SHOWN_CHECKS} more obligations")
    for line in lines:
        console.print(f"  {printable(line)}", soft_wrap=True)
    if result.counterexample:
        text = counterexample_text(result.counterexample, target.architecture)
        console.print(text, soft_wrap=True)


def print_variants(console: Console, variants: Sequence[VariantSummary]) -> None:
    """What the kernel can make of the function, if that is more than what is in the file."""
    if not any(variant.patches for variant in variants):
        return
    table = _plain_table()
    table.add_column("variant", overflow="fold")
    table.add_column("patched at", overflow="fold")
    judged = any(variant.verdicts for variant in variants)
    if judged:
        table.add_column("verdicts", overflow="fold")
    for variant in variants:
        places = (
            f"{patch.address:#x}..{patch.address + len(patch.code) // 2:#x}"
            for patch in variant.patches
        )
        row = [printable(variant.name), ", ".join(places) or "none"]
        table.add_row(*row, *([_verdicts_of(variant)] if judged else []))
    console.print()
    console.print(table)


def _verdicts_of(variant: VariantSummary) -> Text:
    """The properties that are not PROVED, or that all have one verdict."""
    found = {one.verdict for one in variant.verdicts}
    if len(found) == 1:
        return Text("all ").append(_verdict(*found))
    return Text(", ").join(
        Text(f"{one.property} ").append(_verdict(one.verdict))
        for one in variant.verdicts
        if one.verdict is not Verdict.PROVED
    )


def _failing(check: Check) -> str:
    places = ", ".join(f"{address:#x}" for address in check.instructions[:4])
    more = ", ..." if len(check.instructions) > 4 else ""
    at = f" (at {places}{more})" if places else ""
    because = f": {check.reason}" if check.reason else ""
    return f"{check.verdict.value} {check.id}: {check.claim}{at}{because}"


def _print_stack(console: Console, verdict: Verdict, result: Result) -> None:
    missing = "neither discipline is met" if verdict is Verdict.REFUTED else "not decided"
    console.print()
    console.print(f"stack: {result.discipline or missing}", soft_wrap=True)
    if not result.stack_writes:
        return
    table = _plain_table()
    table.add_column("at", justify="right")
    table.add_column("instruction", overflow="fold")
    table.add_column("offset", justify="right")
    table.add_column("size", justify="right")
    for name in ("holds", "place", "secrecy"):
        table.add_column(name, overflow="fold")
    for write in result.stack_writes:
        row = _stack_row(write)
        table.add_row(*row, style="" if write.kind in PUBLIC else STYLES[Verdict.REFUTED])
    console.print(table)


def _stack_row(write: StackWrite) -> tuple[str, ...]:
    return (
        f"{write.instruction:x}",
        write.text,
        f"sp{write.offset:+d}",
        str(write.size),
        write.holds,
        write.place,
        _SECRECY.get(write.kind, "clean"),
    )


def _print_residues(console: Console, residues: Sequence[Residue]) -> None:
    """The registers that the ABI does not preserve: those that hold something; the rest counted."""
    if not residues:
        return
    shown = [residue for residue in residues if residue.kind not in QUIET]
    counts = Counter(residue.kind for residue in residues if residue.kind in QUIET)
    quiet = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    dirty = any(residue.kind in DIRTY for residue in residues)
    console.print()
    verdict = "some depend on a secret" if dirty else "none depends on a secret"
    console.print(f"registers at return: {verdict}; {quiet or 'none'}, and", soft_wrap=True)
    table = _plain_table()
    for name in ("register", "holds", "kind"):
        table.add_column(name, overflow="fold")
    table.add_column("written at", justify="right")
    for residue in shown:
        holds = f"{residue.holds}: {residue.gives_away}" if residue.gives_away else residue.holds
        at = "" if residue.writer is None else f"{residue.writer:x}"
        style = STYLES[Verdict.REFUTED] if residue.kind in DIRTY else ""
        table.add_row(residue.register, holds, residue.kind, at, style=style)
    console.print(table)


_SECRECY = {"secret": "dirty", "unknown": "unknown"}


def _footing(result: Result) -> str:
    """The bytes, the tools and the assumptions that the verdicts rest on, on one line."""
    target = result.target
    end = target.address + target.size
    parts = [
        f"file sha256 {target.sha256}",
        f"function {target.address:#x}..{end:#x} sha256 {target.function_sha256}"
        f" ({printable(target.located)})",
        *map(printable, environment_parts(result)),
        ", ".join(f"{name} {version}" for name, version in result.tools.items()),
        "caveats: " + (", ".join(caveat.value for caveat in result.caveats) or "none"),
    ]
    return "; ".join(part for part in parts if part)
