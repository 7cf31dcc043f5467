"""Where the code leaves the specification, on one concrete block."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from specs.chacha20 import CONSTANTS
from verify.counterexample import Departure, StateWord
from verify.lift.memory import Access
from verify.prove.correspondence import LANE, Specified, specified_block
from verify.prove.place import STATE_WORDS, contents, holders, operation, versions
from verify.prove.segments import Segment, Segments
from verify.prove.setting import high_word, low_word
from verify.terms import Term, const, evaluate, postorder, variables

_USUAL_KEYS = 8
"""Random keys that are tried: a fault that shows with one key in two is seen with one of them."""


@dataclass(frozen=True)
class Call:
    """The call that is followed: the key's 8 words, the 64-bit counter, the number of blocks."""

    key: tuple[int, ...]
    counter: int
    nblocks: int


@dataclass(frozen=True)
class Deviation:
    """The address of the first instruction at which the state leaves the specification, and the
    operation that it should have carried out."""

    instruction: int
    departure: Departure


def first_deviation(segments: Segments, call: Call, block: int, word: int) -> Deviation | None:
    """Where the state first leaves the specification.

    The block at hand is number `block` (counter + `block` mod 2^64), its output word
    number `word` is wrong. The specification's operations are followed in order up to the first
    whose result the code never has; the instruction is the first that computes something else
    from its operands. When all results are there, it is the store of the wrong word. None when
    no segment takes these inputs.
    """
    generator = random.Random(word)
    usual = [tuple(generator.getrandbits(LANE) for _ in call.key) for _ in range(_USUAL_KEYS)]
    # Values of an unusual key coincide by chance, so a usual one is followed if one fails as well.
    for key in (*usual, call.key):
        for segment in taken(segments, call, key, block):
            values = assignment(segments, segment, call, key, block)
            found = _in_segment(segments, segment, values, word)
            if found is not None:
                return _deviation(segments, segment, found, values, call, block)
    return None


def taken(segments: Segments, call: Call, key: tuple[int, ...], block: int) -> Iterator[Segment]:
    """The segments that compute that block of the call, with that key."""
    for segment in segments:
        if segment.begin == "entry" and segment.end == "loop":
            continue
        values = assignment(segments, segment, call, key, block)
        if all(evaluate([fact], values, 0)[fact] for fact in segment.assumptions):
            yield segment


def assignment(
    segments: Segments, segment: Segment, call: Call, key: tuple[int, ...], block: int
) -> dict[Term, int]:
    """Values of all variables of a segment: those of the call, with that key, at that block, and
    random ones for what is not given."""
    names = segments.names
    generator = random.Random(call.nblocks)
    terms = [*segment.assumptions, segment.path.target]
    terms += [write.value for write in segment.machine.register_writes]
    terms += [access.value for access in segment.accesses]
    values = {v: generator.getrandbits(max(v.width, 1)) for v in variables(terms)}
    values |= dict(zip(names.key, key, strict=True))
    values |= {
        names.count: call.counter,
        names.block_count: (call.counter + block) % (1 << 64),
        names.nblocks: call.nblocks,
        names.index: block,
        names.address("ra"): 0,
    }
    return values


@dataclass(frozen=True)
class _Found:
    """An instruction on a segment, by its address and step, and the number of the operation of
    the specification whose result it does not make."""

    instruction: int
    step: int
    number: int


def _in_segment(
    segments: Segments, segment: Segment, given: Mapping[Term, int], word: int
) -> _Found | None:
    writes = [
        access
        for access in segment.accesses
        if access.kind == "write"
        and access.place is not None
        and access.place.region == "dst"
        and access.place.offset < 4 * word + 4
        and 4 * word < access.place.offset + access.size
    ]
    if not writes:
        return None
    specified = specification(segments, segment)
    number = len(specified.operations) - len(specified.words) + word
    steps = [
        (write.step, write.instruction, write.value) for write in segment.machine.register_writes
    ]
    terms = [value for _, _, value in steps] + [access.value for access in writes]
    values = evaluate(terms, given, 0)
    wanted = evaluate(specified.words, given, 0)
    if _stored(segment, writes, values, word) == wanted[specified.words[word]]:
        return None
    slice_ = set(postorder(access.value for access in writes))
    made: dict[int, int] = {}
    for step, _, value in steps:
        for lane in _lanes(values[value], value.width):
            made.setdefault(lane, step)
    missing = _first_missing(specified, wanted, made)
    if missing is not None:
        number = specified.operations.index(missing)
        operands = {wanted[operand] for operand in missing.args if operand.value is None}
        computed = [wanted[term] for term in missing.args if term in specified.made]
        ready = max((made.get(operand, -1) for operand in computed), default=-1)
        correct = {wanted[term] for term in specified.made} | operands
        for step, instruction, value in steps:
            lanes = set(_lanes(values[value], value.width))
            wrong = not correct & lanes and _uses(value, operands, values)
            if (
                step > ready
                and (wrong or _mixes(value, lanes, operands, values))
                and (value in slice_ or any(part in slice_ for part in value.args))
            ):
                return _Found(instruction, step, number)
    return _Found(writes[-1].instruction, writes[-1].step, number)


def specification(segments: Segments, segment: Segment) -> Specified:
    """The specification of the block that a segment computes."""
    count = segment.block_count
    return specified_block(segments.names.key, low_word(count), high_word(count))


def _deviation(
    segments: Segments,
    segment: Segment,
    found: _Found,
    usual: Mapping[Term, int],
    call: Call,
    block: int,
) -> Deviation:
    """What there is to say of it; where words are is seen on the usual key, their values are those
    of the call."""
    specified = specification(segments, segment)
    made = operation(specified, found.number)
    result = specified.operations[found.number]
    given = assignment(segments, segment, call, call.key, block)
    departure = Departure(
        block,
        made.round,
        made.quarter_round,
        specified.made.get(result, "word") if made.round else "sum with the initial state",
        made.word,
        evaluate([result], given, 0)[result],
        _visits(segments, segment, found, block),
        state_at(segments, segment, usual, given, found.number, found.step),
    )
    return Deviation(found.instruction, departure)


def state_at(
    segments: Segments,
    segment: Segment,
    usual: Mapping[Term, int],
    given: Mapping[Term, int],
    number: int,
    step: int,
) -> tuple[StateWord, ...]:
    """The 16 words around the operation of that number, and where the code has them before the
    instruction of that step: seen on the values `usual`, which are unlike others, and shown with
    those that are `given`."""
    specified = specification(segments, segment)
    names, count = segments.names, segment.block_count
    zero = const(0, LANE)
    constants = [const(value, LANE) for value in CONSTANTS]
    initial = [*constants, *names.key, low_word(count), high_word(count), zero, zero]
    steps = [write.value for write in segment.machine.register_writes]
    steps += [access.value for access in segment.accesses]
    little = segments.engine.layout.little
    there = contents(segment, evaluate(steps, usual, 0), step, little=little)
    words = []
    for word in range(STATE_WORDS):
        known = versions(initial, specified, number, word)
        seen = evaluate(known, usual, 0)
        held = ((value, holders(segments, there, seen[value])) for value in known)
        value, places = next(((value, held) for value, held in held if held), (known[-1], ()))
        if not places and value in names.key:
            places = (f"key+{4 * names.key.index(value)}",)
        words.append(StateWord(word, evaluate([value], given, 0)[value], places))
    return tuple(words)


def _visits(segments: Segments, segment: Segment, found: _Found, block: int) -> int:
    """How often the instruction has been executed in the call when it deviates, this time
    included."""
    here = segment.machine.steps[: found.step + 1].count(found.instruction)
    if segment.begin == "entry":
        return here
    before = next((one for one in segments if one.name == "entry to loop"), None)
    again = next((one for one in segments if one.name == "loop to loop"), None)
    earlier = before.machine.steps.count(found.instruction) if before is not None else 0
    passes = again.machine.steps.count(found.instruction) if again is not None else 0
    return earlier + block * passes + here


def _stored(segment: Segment, writes: list[Access], values: Mapping[Term, int], word: int) -> int:
    """The little-endian word that the writes leave in memory; bytes not written count as zero."""
    memory: dict[int, int] = {}
    order: Literal["little", "big"] = "little" if segment.machine.little else "big"
    for access in writes:
        assert access.place is not None
        data = values[access.value].to_bytes(access.size, order)
        memory.update(enumerate(data, access.place.offset))
    return int.from_bytes(bytes(memory.get(4 * word + k, 0) for k in range(4)), "little")


def _lanes(value: int, width: int) -> list[int]:
    return [(value >> low) & 0xFFFF_FFFF for low in range(0, max(width - LANE + 1, 1), LANE)]


def _first_missing(
    specified: Specified, wanted: Mapping[Term, int], made: Mapping[int, int]
) -> Term | None:
    return next((term for term in specified.made if wanted[term] not in made), None)


def _mixes(value: Term, lanes: set[int], operands: set[int], values: Mapping[Term, int]) -> bool:
    """Whether one operator makes something else of all the operands, which are two or more."""
    taken = {lane for arg in value.args for lane in _lanes(values[arg], arg.width)}
    return len(operands) > 1 and operands <= taken and not operands & lanes


def _uses(value: Term, operands: set[int], values: Mapping[Term, int], depth: int = 7) -> bool:
    """Whether one of the operands occurs a few operators below a term."""
    below = list(value.args)
    for _ in range(depth):
        for term in below:
            if term in values and operands & set(_lanes(values[term], term.width)):
                return True
        below = [arg for term in below for arg in term.args]
    return False
