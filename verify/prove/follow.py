"""One concrete call followed through the segments: what is computed, written and passed on.

This is for pictures: nothing is claimed of more than the call at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from verify.counterexample import StateWord
from verify.lift.memory import Access
from verify.prove.correspondence import LANE
from verify.prove.deviation import Call, assignment, specification, state_at, taken
from verify.prove.place import Operation, operation
from verify.prove.secrets import secret_variables, secrets_in
from verify.prove.segments import Segment, Segments
from verify.terms import Term, evaluate, postorder


@dataclass(frozen=True)
class Made:
    """An operation of the specification, its value, and whether the code has that value."""

    operation: Operation
    value: int
    made: bool


def operations(segments: Segments, call: Call, block: int) -> list[Made]:
    """Every operation of the specification of a block, and whether the code makes its value."""
    segment = segment_of(segments, call, block)
    specified = specification(segments, segment)
    given = assignment(segments, segment, call, call.key, block)
    written = [write.value for write in segment.machine.register_writes]
    written += [access.value for access in segment.accesses]
    values = evaluate(written, given, 0)
    lanes = {
        values[term] >> low & 0xFFFF_FFFF
        for term in written
        for low in range(0, max(term.width - LANE + 1, 1), LANE)
    }
    wanted = evaluate(specified.operations, given, 0)
    return [
        Made(operation(specified, number), wanted[term], wanted[term] in lanes)
        for number, term in enumerate(specified.operations)
    ]


def state_after(segments: Segments, call: Call, number: int) -> tuple[StateWord, ...]:
    """The 16 words when the code has first made all results of a block's operations up to that
    number, and where it has them."""
    segment = segment_of(segments, call, 0)
    specified = specification(segments, segment)
    given = assignment(segments, segment, call, call.key, 0)
    made = specified.operations[: number + 1]
    wanted = evaluate(made, given, 0)
    missing = {wanted[term] for term in made}
    steps = [(write.step, write.value) for write in segment.machine.register_writes]
    steps += [(access.step, access.value) for access in segment.accesses]
    values = evaluate([value for _, value in steps], given, 0)
    behind = 0
    for step, value in sorted(steps, key=lambda one: one[0]):
        if not missing:
            break
        for low in range(0, max(value.width - LANE + 1, 1), LANE):
            missing.discard(values[value] >> low & 0xFFFF_FFFF)
        behind = step + 1
    return state_at(segments, segment, given, given, number, behind)


def segment_of(segments: Segments, call: Call, block: int) -> Segment:
    """The segment that computes that block of the call; raises LookupError where none does."""
    found = next(taken(segments, call, call.key, block), None)
    if found is None:
        raise LookupError(f"no path of the function computes block {block}")
    return found


@dataclass(frozen=True)
class Write:
    """One store of the call: the how-manieth instruction executed, its address, region and offset
    in bytes, size, and whether what is stored depends on a secret."""

    step: int
    instruction: int
    region: str
    offset: int
    size: int
    dirty: bool


def writes(segments: Segments, call: Call) -> list[Write]:
    """All stores of a call of one block; those to places that are not known are left out."""
    secret = secret_variables(segments)
    found: list[Write] = []
    done = 0
    for segment in _path(segments, call):
        found += [
            Write(
                done + access.step,
                access.instruction,
                access.place.region,
                access.place.offset,
                access.size,
                bool(secrets_in([access.value], secret)),
            )
            for access in segment.accesses
            if access.kind == "write" and access.place is not None
        ]
        done += len(segment.machine.steps)
    return found


def _path(segments: Segments, call: Call) -> Iterator[Segment]:
    """The segments of a call of one block in order."""
    last = segment_of(segments, call, 0)
    if last.begin == "loop":
        yield from (one for one in segments if one.name == "entry to loop")
    yield last
    if last.end == "loop":
        yield from (one for one in segments.exits if one.begin == "loop" and one is not last)


@dataclass(frozen=True)
class Node:
    """One instruction on the way from the key to a value: address, what it writes in hexadecimal on
    the call at hand, and the numbers of the nodes whose values it takes. A node without an
    instruction stands for `text`."""

    instruction: int | None
    text: str
    value: int | None
    takes: tuple[int, ...]


def flow(
    segments: Segments, segment: Segment, call: Call, value: Term, ending: str, most: int
) -> list[Node]:
    """The last instructions, at most so many, through which a value comes from the key in the first
    block of a call. In front of them are the key words that they read, and one node for all that
    is left out; behind them is one for the value itself, of the text `ending`."""
    inside = set(postorder([value]))
    given = assignment(segments, segment, call, call.key, 0)
    steps: dict[Term, tuple[int, int]] = {}
    for write in segment.machine.register_writes:
        if write.value in inside and write.value.op != "const":
            steps.setdefault(write.value, (write.step, write.instruction))
    for access in segment.accesses:
        if access.kind == "read" and access.value in inside and access.value.op != "const":
            steps.setdefault(access.value, (access.step, access.instruction))
    secret = secret_variables(segments)
    dirty = {term: at for term, at in steps.items() if secrets_in([term], secret)}
    chosen = sorted(dirty, key=lambda term: dirty[term])[-most:]
    values = evaluate(chosen, given, 0)
    numbers = {term: number for number, term in enumerate(chosen)}
    sources: dict[str, int] = {}
    takes: list[list[int | str]] = []
    key = set(segments.names.key)
    for term in chosen:
        takes.append(_taken_by(term, numbers, dirty, key))
        for one in takes[-1]:
            if isinstance(one, str):
                sources.setdefault(one, len(sources))
    titles = {word.name: f"key word {n}" for n, word in enumerate(segments.names.key)}
    nodes = [Node(None, titles.get(name, name), None, ()) for name in sources]
    for term, found in zip(chosen, takes, strict=True):
        taken_from = tuple(
            sources[one] if isinstance(one, str) else len(sources) + one for one in found
        )
        nodes.append(Node(dirty[term][1], "", values[term], taken_from))
    last = [numbers[value]] if value in numbers else _taken_by(value, numbers, dirty, key)
    made = tuple(sources[one] if isinstance(one, str) else len(sources) + one for one in last)
    return [*nodes, Node(None, ending, None, made)]


_EARLIER = "earlier operations"


def _taken_by(
    term: Term, shown: Mapping[Term, int], dirty: Mapping[Term, object], key: set[Term]
) -> list[int | str]:
    """What a term is made of: numbers of shown terms, names of key words, or what is left out."""
    found: dict[int | str, None] = {}
    seen: set[Term] = set()
    below = [term] if term in key else list(term.args)
    while below:
        one = below.pop()
        if one in seen:
            continue
        seen.add(one)
        if one in shown and one is not term:
            found[shown[one]] = None
        elif one in key:
            found[one.name] = None
        elif one in dirty:
            found[_EARLIER] = None
        else:
            below.extend(one.args)
    return list(found)


def store_of(segments: Segments, call: Call, instruction: int) -> tuple[Segment, Access]:
    """The store of an instruction in a call of one block, and the segment that it is on; raises
    LookupError where there is none."""
    for segment in _path(segments, call):
        for access in segment.accesses:
            if access.instruction == instruction and access.kind == "write":
                return segment, access
    raise LookupError(f"no store at {instruction:#x}")


__all__: Sequence[str] = [
    "Made",
    "Node",
    "Write",
    "flow",
    "operations",
    "segment_of",
    "state_after",
    "store_of",
    "writes",
]
