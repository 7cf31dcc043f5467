"""The code of a function as a reviewer reads it: what each instruction is there for, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from verify.anatomy import Anatomy, ListedInstruction, MemoryAccess, Part, Role
from verify.verdict import LoopSummary, Result, Verdict

PERMITTED = ("dst", "")
"""Regions to which a secret may be written; what belongs to no single one may be dst."""
_MANY = 4
_KEY = range(4, 12)
_COUNTER = range(12, 14)


@dataclass(frozen=True)
class Row:
    """One instruction: its roles, what it does in memory, and what is wrong with it, in words."""

    instruction: ListedInstruction
    roles: tuple[str, ...]
    accesses: tuple[str, ...]
    faults: tuple[str, ...]


@dataclass(frozen=True)
class Stretch:
    """Instructions one after the other, with a heading: the same loops around all of them."""

    title: str
    rows: tuple[Row, ...]


def numbers(values: Sequence[int]) -> str:
    """Ascending numbers, a long row of equal distances by its ends."""
    if len(values) >= _MANY:
        steps = {after - before for before, after in pairwise(values)}
        if steps == {1}:
            return f"{values[0]} to {values[-1]}"
        if len(steps) == 1:
            return f"{values[0]}, {values[1]}, … {values[-1]}"
    return ", ".join(map(str, values))


def counted(noun: str, values: Sequence[int]) -> str:
    """Numbers with their noun."""
    return f"{noun}{'s' if len(values) > 1 else ''} {numbers(values)}"


def role_text(role: Role) -> str:
    """A role in words."""
    what, words = role.what, counted("word", role.words) if role.words else ""
    match role.part:
        case Part.OPERATION:
            return f"{what}: {words}{_where(role)}"
        case Part.STEP:
            return f"step of the {what}: {words}{_where(role)}"
        case Part.INITIAL:
            return f"initial {words} ({_origin(role.words)})"
        case Part.MOVE:
            return f"moves {words}" if words else "moves words"
        case Part.OUTPUT:
            return f"output {words}"
        case Part.COUNTER:
            return "stores the counter" if what else "computes the counter"
        case Part.SAVE:
            return f"saves {what}"
        case Part.RESTORE:
            return f"restores {what}"
        case Part.WIPE:
            return f"wipes {what}"
        case Part.FRAME:
            return f"stack pointer becomes {what}" if what else "moves the stack pointer"
        case Part.RETURN:
            return "returns"
    return f"{role.part.value}: {what}" if what else role.part.value


def _where(role: Role) -> str:
    if not role.rounds:
        return ""
    quarters = counted("quarter round", role.quarter_rounds)
    return f"; {counted('round', role.rounds)}, {quarters}"


def _origin(words: Sequence[int]) -> str:
    found = {
        "key" if word in _KEY else "counter" if word in _COUNTER else "constant" for word in words
    }
    return ", ".join(sorted(found))


def from_entry(offset: int) -> str:
    """A place on the stack, with a minus at which no line is broken."""
    return f"sp{offset:+d}".replace("-", "\N{MINUS SIGN}")


def span(region: str, first: int, last: int) -> str:
    """The bytes from the first to the last of a region."""
    show = {"code": hex, "stack": from_entry}.get(region, str)
    return f"{show(first)} to {show(last)}" if first < last else show(first)


def place_text(access: MemoryAccess) -> str:
    """Where an access is."""
    if not access.region:
        return "memory of no single region"
    if access.offset is None:
        return f"{access.region}, at a place that is no constant"
    first, last = access.offset, access.offset + access.size - 1
    block = " of each block" if access.per_block else ""
    return f"{access.region} {span(access.region, first, last)}{block}"


def access_text(access: MemoryAccess) -> str:
    """An access in words."""
    verb = "writes" if access.kind == "write" else "reads"
    secret = "a secret: " if access.secret and access.region not in PERMITTED else ""
    holds = f": {secret}{access.holds}" if access.holds else f": {secret}".removesuffix(": ")
    return f"{verb} {place_text(access)}{holds}"


def stretches(result: Result, anatomy: Anatomy) -> list[Stretch]:
    """The listing, divided where loops begin and end."""
    found: list[Stretch] = []
    around: tuple[int, ...] | None = None
    faults = _faults(result, anatomy)
    for one in anatomy.instructions:
        inside = tuple(loop.head for loop in _around(result.loops, one.address))
        row = Row(
            one,
            tuple(map(role_text, one.roles)),
            tuple(map(access_text, one.accesses)),
            tuple(faults.get(one.address, {})),
        )
        if inside != around:
            found.append(Stretch(_heading(result.loops, inside, around), (row,)))
            around = inside
        else:
            found[-1] = Stretch(found[-1].title, (*found[-1].rows, row))
    return found


def _around(loops: Iterable[LoopSummary], address: int) -> list[LoopSummary]:
    """The loops around an instruction, the outermost first."""
    inside = [one for one in loops if one.last is not None and one.head <= address <= one.last]
    return sorted(inside, key=lambda one: (one.head, -(one.last or 0)))


def loop_title(loop: LoopSummary) -> str:
    """A loop and how often it is passed."""
    if loop.part == "blocks":
        return f"block loop at {loop.head:#x}, one pass for each block"
    times = f", {loop.passes} passes" if loop.passes else ""
    return f"loop at {loop.head:#x}{times}"


def _heading(
    loops: Iterable[LoopSummary], inside: Sequence[int], before: Sequence[int] | None
) -> str:
    if before is None and not inside:
        return "entry"
    left = [head for head in before or () if head not in inside]
    entered = [
        loop_title(one) for one in loops if one.head in inside and one.head not in (before or ())
    ]
    if entered:
        return "; ".join(entered)
    behind = " and ".join(f"{head:#x}" for head in left)
    rest = f", in the loop at {inside[-1]:#x}" if inside else ""
    return f"behind the loop at {behind}{rest}"


def _faults(result: Result, anatomy: Anatomy) -> dict[int, dict[str, None]]:
    """What is known to be wrong with an instruction of that variant, by its address."""
    found: dict[int, dict[str, None]] = {}
    for address, text in _broken(result, anatomy):
        found.setdefault(address, {})[text] = None
    return found


def _broken(result: Result, anatomy: Anatomy) -> Iterator[tuple[int, str]]:
    names = [one.name for one in result.variants]
    number = names.index(anatomy.variant) if anatomy.variant in names else 0
    for found in result.properties:
        shown = found.counterexample
        if shown is not None and found.variant in ("", anatomy.variant):
            if shown.deviation is not None:
                first = found.property == "output"
                what = (
                    "leaves the specification here first" if first else f"breaks {found.property}"
                )
                yield shown.deviation, what
            if shown.observation.instruction is not None:
                yield shown.observation.instruction, f"breaks {found.property}"
        for check in found.checks:
            suffix = check.id.rpartition("@variant")[2] if "@variant" in check.id else "0"
            if check.verdict is Verdict.REFUTED and suffix == str(number):
                yield from ((address, f"breaks {found.property}") for address in check.instructions)
    for residue in result.residues:
        if residue.kind == "key-dependent" and residue.writer is not None:
            yield residue.writer, f"leaves {residue.register} at return, which {residue.holds}"
