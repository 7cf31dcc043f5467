"""The costs for people and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from verify.cost.formula import Formula, Term
from verify.cost.model import LENGTHS, POSITIONS
from verify.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from verify.cost.model import Cost

FORMAT = 1
"""Version of the JSON format. It changes when a reader of the old one would misunderstand."""
_ALIGNED = "for a buffer at a multiple of 64; at an odd address the numbers are others"


def print_costs(console: Console, costs: Sequence[Cost]) -> None:
    """A table of the means, and below it the formulas of each program and what they rest on."""
    console.print("instructions of a call, mean over pos 0..96, by its length in bytes")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("architecture")
    for length in LENGTHS:
        table.add_column(str(length), justify="right")
    table.add_column("file", overflow="fold")
    for cost in costs:
        means = (f"{float(cost.mean(length)):.2f}" for length in LENGTHS)
        table.add_row(cost.architecture.name, *means, printable(cost.source))
    console.print(table)
    for cost in costs:
        console.print(f"{printable(cost.source)}: {cost.function}", soft_wrap=True)
        for line in details(cost):
            console.print(f"  {line}", soft_wrap=True)


def details(cost: Cost) -> Iterator[str]:
    """What a cost says besides the means, line by line."""
    yield f"image SHA-256 {cost.image_sha256}"
    yield f"len <= 96 - pos: {shown(cost.formulas.within)}"
    yield f"len > 96 - pos: {shown(cost.formulas.beyond)}"
    if cost.patched:
        yield _patched(cost.patched)
    if cost.aligned_only:
        yield _ALIGNED
    where = f"data page {cost.data_page:#x} bytes in front, pages of {cost.page_bytes:#x}"
    yield f"{len(cost.by_call)} calls executed by {cost.executor}; {where}"


def _patched(conditions: Iterable[str]) -> str:
    return f"as the kernel patches it: {', '.join(conditions)}"


def shown(formula: Formula | None) -> str:
    """A formula on one line, or that there is none."""
    return "no formula of those looked for fits" if formula is None else str(formula)


def findings(content: Any) -> dict[str, tuple[str, ...]]:
    """By the hash of an image what is said of its cost, line by line, from what `to_json` wrote.

    Raises ValueError where it did not.
    """
    try:
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r} instead of {FORMAT}")
        return {one["image_sha256"]: tuple(_findings(one)) for one in content["costs"]}
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _findings(cost: dict[str, Any]) -> Iterator[str]:
    means = (f"{mean:.2f} for {length} bytes" for length, mean in cost["mean"].items())
    yield f"cost: instructions of a call, mean over pos 0..96: {', '.join(means)}"
    for case, terms in (("<=", cost["within"]), (">", cost["beyond"])):
        yield f"cost: len {case} 96 - pos: {shown(_read(terms))}"
    if cost["patched"]:
        yield f"cost: {_patched(cost['patched'])}"
    if cost["aligned_only"]:
        yield f"cost: {_ALIGNED}"
    yield f"cost: {cost['calls']} calls executed by {cost['executor']}"


def _read(terms: list[dict[str, Any]] | None) -> Formula | None:
    if terms is None:
        return None
    return Formula(tuple(Term(one["of"], tuple(one["factors"])) for one in terms))


def to_json(costs: Iterable[Cost], failures: Iterable[tuple[str, str]]) -> str:
    """The costs as JSON text; `failures` are the images that have none, each with the reason."""
    content = {
        "format": FORMAT,
        "lengths": list(LENGTHS),
        "costs": [_cost(cost) for cost in costs],
        "failures": [{"source": source, "reason": reason} for source, reason in failures],
    }
    return json.dumps(content, indent=1) + "\n"


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "source": cost.source,
        "path": list(cost.path),
        "image_sha256": cost.image_sha256,
        "architecture": cost.architecture.name,
        "function": cost.function,
        "executor": cost.executor,
        "page_bytes": cost.page_bytes,
        "data_page": cost.data_page,
        "patched": list(cost.patched),
        "aligned_only": cost.aligned_only,
        "mean": {str(length): round(float(cost.mean(length)), 2) for length in LENGTHS},
        "by_pos": {
            str(length): [cost.by_call[length, pos] for pos in POSITIONS] for length in LENGTHS
        },
        "calls": len(cost.by_call),
        "within": _formula(cost.formulas.within),
        "beyond": _formula(cost.formulas.beyond),
    }


def _formula(formula: Formula | None) -> list[dict[str, Any]] | None:
    if formula is None:
        return None
    return [{"of": term.of, "factors": list(term.factors)} for term in formula.terms]
