"""The loops of a function: how they lie in each other, what they do, and what holds in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verify.anatomy import Anatomy, Held, Part
from verify.report.annotated import counted, loop_title
from verify.verdict import LoopSummary

_KINDS = {
    "advances": "moves in each pass",
    "counter": "the block's counter",
    "constant": "the same in each pass",
    "state": "words of the state",
    "unknown": "left over, nothing is assumed of it",
}


@dataclass(frozen=True)
class LoopRow:
    """A loop in words: `holds` are names of what there is to say of places, and the places."""

    loop: LoopSummary
    title: str
    does: str
    holds: tuple[tuple[str, str], ...]


def loop_rows(loops: Sequence[LoopSummary], anatomy: Anatomy | None) -> list[LoopRow]:
    """The loops, in the order of their heads."""
    return [
        LoopRow(one, loop_title(one), _does(one, anatomy), tuple(_holds(one.held))) for one in loops
    ]


def _does(loop: LoopSummary, anatomy: Anatomy | None) -> str:
    """What is done in a loop and in no loop inside of it, as far as the roles tell."""
    if anatomy is None or loop.last is None:
        return ""
    inside = [one for one in anatomy.instructions if loop.head <= one.address <= loop.last]
    roles = [role for one in inside for role in one.roles]
    rounds = sorted({number for role in roles for number in role.rounds})
    parts = [f"{counted('round', rounds)} of each block"] if rounds else []
    if loop.passes and rounds and len(rounds) % loop.passes == 0:
        each = len(rounds) // loop.passes
        parts = [f"{counted('round', rounds)}: {each} round{'s' if each > 1 else ''} in each pass"]
    output = sorted({word for role in roles if role.part is Part.OUTPUT for word in role.words})
    if output:
        parts.append(f"output {counted('word', output)}")
    return "; ".join(parts)


def _holds(held: Sequence[Held]) -> list[tuple[str, str]]:
    found = []
    for kind, title in _KINDS.items():
        places = [_place(one) for one in held if one.kind == kind]
        if places:
            found.append((title, ", ".join(places)))
    return found


def _place(one: Held) -> str:
    if one.kind == "unknown" or not one.value:
        return one.place
    step = f" ({one.step:+d})" if one.step else ""
    return f"{one.place}{' ' if one.value.startswith('from ') else ' = '}{one.value}{step}"


@dataclass(frozen=True)
class Span:
    """A stretch of code in the picture of the loops; `depth` is the number of loops around it."""

    x: float
    width: float
    depth: int
    label: str


WIDTH, _LEAST = 336, 8


def spans(loops: Sequence[LoopSummary], anatomy: Anatomy) -> list[Span]:
    """The function and its loops, as wide as they have bytes."""
    listed = anatomy.instructions
    if not listed:
        return []
    first, behind = listed[0].address, listed[-1].address + len(listed[-1].code) // 2
    size = max(behind - first, 1)
    found = [Span(0, WIDTH, 0, f"function, {len(listed)} instructions")]
    known = [one for one in loops if one.last is not None]
    for one in known:
        last = one.last or one.head
        depth = sum(other.head <= one.head and last <= (other.last or 0) for other in known)
        width = max((last - one.head) * WIDTH / size, _LEAST)
        x = min((one.head - first) * WIDTH / size, WIDTH - width)
        passes = (
            f"{one.passes} passes" if one.passes else "each block" if one.part == "blocks" else ""
        )
        found.append(Span(x, width, depth, f"{one.head:#x} {passes}".strip()))
    return found
