"""Where the code leaves the specification, on one concrete block."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Literal

from verify.lift.memory import Access
from verify.prove.correspondence import LANE, Specified, specified_block
from verify.prove.segments import Segment, Segments
from verify.prove.setting import high_word, low_word
from verify.terms import Term, evaluate, postorder, variables

_USUAL_KEYS = 8
"""Random keys that are tried: a fault that shows with one key in two is seen with one of them."""


def first_deviation(
    segments: Segments, key: tuple[int, ...], counter: int, block: int, nblocks: int, word: int
) -> int | None:
    """The address of the first instruction at which the state leaves the specification.

    The block at hand is number `block` (counter `counter` + `block` mod 2^64), its output word
    number `word` is wrong. The specification's operations are followed in order up to the first
    whose result the code never has; the instruction is the first that computes something else
    from its operands. When all results are there, it is the store of the wrong word. None when
    no segment takes these inputs.
    """
    generator = random.Random(word)
    usual = [tuple(generator.getrandbits(LANE) for _ in key) for _ in range(_USUAL_KEYS)]
    # Values of an unusual key coincide by chance, so a usual one is followed if one fails as well.
    for tried in (*usual, key):
        for segment in segments:
            if segment.begin == "entry" and segment.end == "loop":
                continue
            values = _assignment(segments, segment, tried, counter, block, nblocks)
            if all(evaluate([fact], values, 0)[fact] for fact in segment.assumptions):
                found = _in_segment(segments, segment, values, word)
                if found is not None:
                    return found
    return None


def _assignment(
    segments: Segments,
    segment: Segment,
    key: tuple[int, ...],
    counter: int,
    block: int,
    nblocks: int,
) -> dict[Term, int]:
    names = segments.names
    generator = random.Random(nblocks)
    terms = [*segment.assumptions, segment.path.target]
    terms += [write.value for write in segment.machine.register_writes]
    terms += [access.value for access in segment.accesses]
    values = {v: generator.getrandbits(max(v.width, 1)) for v in variables(terms)}
    values |= dict(zip(names.key, key, strict=True))
    values |= {
        names.count: counter,
        names.block_count: (counter + block) % (1 << 64),
        names.nblocks: nblocks,
        names.index: block,
        names.address("ra"): 0,
    }
    return values


def _in_segment(
    segments: Segments, segment: Segment, assignment: Mapping[Term, int], word: int
) -> int | None:
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
    count = segment.block_count
    specified = specified_block(segments.names.key, low_word(count), high_word(count))
    steps = [
        (write.step, write.instruction, write.value) for write in segment.machine.register_writes
    ]
    terms = [value for _, _, value in steps] + [access.value for access in writes]
    values = evaluate(terms, assignment, 0)
    wanted = evaluate(specified.words, assignment, 0)
    if _stored(segment, writes, values, word) == wanted[specified.words[word]]:
        return None
    slice_ = set(postorder(access.value for access in writes))
    made: dict[int, int] = {}
    for step, _, value in steps:
        for lane in _lanes(values[value], value.width):
            made.setdefault(lane, step)
    missing = _first_missing(specified, wanted, made)
    if missing is not None:
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
                return instruction
    return writes[-1].instruction


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
