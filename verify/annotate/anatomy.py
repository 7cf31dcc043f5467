"""Everything that is said of one variant of a function besides its verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from verify.anatomy import Anatomy, ListedInstruction
from verify.annotate.feeding import Stores
from verify.annotate.flow import counting
from verify.annotate.loops import loop_summaries
from verify.annotate.memory import accesses_of, regions_of
from verify.annotate.roles import roles_of
from verify.annotate.words import words_of
from verify.prove.segments import Segments
from verify.prove.stack import lowest_pointer
from verify.verdict import LoopSummary, Verdict


def annotated(
    segments: Segments, verdicts: Mapping[str, Verdict]
) -> tuple[Anatomy, tuple[LoopSummary, ...]]:
    """The anatomy of the variant that the segments are of, and its loops; `verdicts` are those of
    the obligations, by id."""
    words = words_of(segments, verdicts)
    stores = Stores(segments)
    roles = roles_of(segments, words, stores, counting(segments))
    accesses = accesses_of(segments, words, stores)
    executed = {address for segment in segments for address in segment.machine.steps}
    instructions = tuple(
        ListedInstruction(
            address,
            code.hex(),
            text,
            address in executed,
            roles.of(address),
            accesses.get(address, ()),
        )
        for address, code, text in _listing(segments)
    )
    anatomy = Anatomy("", instructions, regions_of(segments), lowest_pointer(segments))
    return anatomy, loop_summaries(segments, words)


def _listing(segments: Segments) -> Iterator[tuple[int, bytes, str]]:
    """(address, bytes, text) of each instruction of the function, and of the code elsewhere that it
    goes on through."""
    target = segments.target
    function = target.function
    ranges = [(function.address, function.address + function.size)]
    for block in sorted(segments.flow.blocks.values(), key=lambda one: one.address):
        first, behind = ranges[-1]
        if first <= block.address <= behind:
            ranges[-1] = (first, max(behind, block.address + block.size))
        elif not any(low <= block.address < high for low, high in ranges):
            ranges.append((block.address, block.address + block.size))
    for first, behind in sorted(ranges):
        lines = segments.engine.disassemble(first, behind - first)
        ends = [*(address for address, _ in lines[1:]), behind]
        for (address, text), end in zip(lines, ends, strict=True):
            yield address, target.code(address, end - address) or b"", text
