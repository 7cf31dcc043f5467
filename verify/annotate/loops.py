"""The loops of a function: what each passes, and what holds at its head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from verify.anatomy import Held
from verify.annotate.flow import Passes, passes
from verify.annotate.values import blocks_in_words, in_words, kept_registers
from verify.annotate.words import Words
from verify.arch import Register, Saved
from verify.lift.machine import Machine
from verify.lift.memory import STACK
from verify.properties.abi import entry_value
from verify.prove.cfg import NaturalLoop
from verify.prove.invariants import FRESH
from verify.prove.segments import Segment, Segments
from verify.terms import Term, linear, variables
from verify.terms.term import signed
from verify.verdict import LoopSummary


def loop_summaries(segments: Segments, words: Words) -> tuple[LoopSummary, ...]:
    """The loops of the function, what the proof does with each, and what it found there."""
    return tuple(
        _blocks_loop(segments, loop)
        if segments.loop is not None and loop.head == segments.loop.head
        else _other_loop(segments, loop, words)
        for loop in segments.flow.loops
    )


def _blocks_loop(segments: Segments, loop: NaturalLoop) -> LoopSummary:
    return _summary(segments, loop, "blocks", 0, tuple(_invariants(segments)))


def _other_loop(segments: Segments, loop: NaturalLoop, words: Words) -> LoopSummary:
    seen = [(segment, passes(segments, segment, loop)) for segment in segments]
    made = [(segment, found) for segment, found in seen if found is not None]
    numbers = {len(found.heads) for _, found in made}
    if len(numbers) != 1:
        return _summary(segments, loop, "rounds", 0, ())
    held = [tuple(_at_heads(segments, segment, found, words)) for segment, found in made]
    common = tuple(one for one in held[0] if all(one in other for other in held))
    return _summary(segments, loop, "rounds", numbers.pop(), common)


def _summary(
    segments: Segments, loop: NaturalLoop, part: str, times: int, held: tuple[Held, ...]
) -> LoopSummary:
    flow = segments.flow
    inside = [flow.blocks[address] for address in sorted(loop.blocks)]
    return LoopSummary(
        loop.head,
        len(loop.blocks),
        part,
        max(block.instructions[-1] for block in inside),
        tuple(
            block.instructions[-1]
            for block in inside
            if loop.head in flow.successors[block.address]
        ),
        times,
        held,
    )


def _registers(segments: Segments) -> Iterator[tuple[Register, int, int]]:
    """The registers that a function may use, each storage once: register, offset, size."""
    seen: set[tuple[int, int]] = set()
    for register in segments.target.architecture.registers:
        where = segments.engine.layout.registers[register.storage]
        if register.saved is not Saved.CONSTANT and where not in seen:
            seen.add(where)
            yield register, *where


def _invariants(segments: Segments) -> Iterator[Held]:
    """What holds at the head of the block loop."""
    loop = segments.loop
    assert loop is not None
    start = loop.start
    kinds = {
        (one.location.offset, one.location.size): one.kind
        for one in loop.invariants
        if one.location.space == "register"
    }
    written = _written(segments)
    for register, offset, size in _registers(segments):
        if written.isdisjoint(range(offset, offset + size)):
            continue
        value = start.converter.term(start.registers.read(offset, size))
        if register.bits is None and value is entry_value(segments, register.name):
            continue
        if value in kept_registers(segments) and kept_registers(segments)[value] == register:
            continue
        found = next(
            (
                kind
                for (at, wide), kind in kinds.items()
                if at < offset + size and offset < at + wide
            ),
            "constant",
        )
        yield _held(segments, register.name, value, found)
    yield from _on_stack(segments, start)


def _written(segments: Segments) -> set[int]:
    """The bytes of the register file that the function writes."""
    return {
        byte
        for segment in segments
        for write in segment.machine.register_writes
        for byte in range(write.offset, write.offset + write.value.width // 8)
    }


def _held(segments: Segments, place: str, value: Term, kind: str) -> Held:
    if any(variable.name.startswith(FRESH) for variable in variables([value])):
        return Held(place, "unknown", "")
    moves = linear(value).coefficients.get(segments.names.index, 0)
    text = blocks_in_words(value) or in_words(segments, value)
    if kind == "constant" and moves:
        kind = "advances"
    return Held(place, kind, text, moves)


def _on_stack(segments: Segments, start: Machine) -> Iterator[Held]:
    for (region, index), cells in start.memory.cells().items():
        if region == STACK and index.is_constant:
            for offset, _, value in cells:
                yield _held(segments, f"sp{offset:+d}", start.converter.term(value), "constant")


def _at_heads(segments: Segments, segment: Segment, made: Passes, words: Words) -> Iterator[Held]:
    """What registers hold at all arrivals at the head of a loop whose passes were executed."""
    for register, offset, size in _registers(segments):
        values = _values(segment, offset, size, made.heads)
        if None in values:
            continue
        found = _in_all(segments, [value for value in values if value is not None], words)
        if found is not None:
            kind, text, step = found
            yield Held(register.name, kind, text, step)


def _values(segment: Segment, offset: int, size: int, heads: Sequence[int]) -> list[Term | None]:
    """What the segment has written to a register before each of the steps; None where that is
    nothing, or another part of it."""
    writes = [
        write
        for write in segment.machine.register_writes
        if write.offset < offset + size and offset < write.offset + write.value.width // 8
    ]
    found: list[Term | None] = []
    for head in heads:
        last = next((write for write in reversed(writes) if write.step < head), None)
        whole = last is not None and last.offset == offset and last.value.width == 8 * size
        found.append(last.value if last is not None and whole else None)
    return found


def _in_all(
    segments: Segments, values: Sequence[Term], words: Words
) -> tuple[str, str, int] | None:
    """(kind, value in words, step) of what a register holds at the head in all passes."""
    if len(set(values)) == 1:
        text = in_words(segments, values[0])
        return ("constant", text, 0) if text else None
    if all(value.value is not None for value in values):
        width = values[0].width
        known = [signed(value.value or 0, width) for value in values]
        steps = {after - before for before, after in pairwise(known)}
        if len(steps) == 1:
            return "advances", f"from {known[0]}", steps.pop()
        return None
    state = {_state_words(value, words) for value in values[1:]}
    if len(state) == 1 and (numbers := state.pop()):
        plural = "s" if len(numbers) > 1 else ""
        return "state", f"word{plural} {', '.join(map(str, numbers))}", 0
    return None


def _state_words(value: Term, words: Words) -> tuple[int, ...]:
    """The numbers of the words of the state that a value holds, from the lowest bit on."""
    return tuple(words.made(words.numbers[word][0])[0].word for word in words.held(value))
