"""Alignment: a finding, not a verdict.

For each access, the alignment that the contract gives (4 bytes for key and counter, none for dst)
against its size, which is what the instruction needs in the architecture's strict mode.
"""

from __future__ import annotations

from collections import Counter

from verify.lift.memory import CODE, STACK
from verify.prove.segments import Segments

_GIVEN = {"key": 4, "counter": 4, "dst": 1}


def findings(segments: Segments) -> tuple[str, ...]:
    """One line per region and kind of access that the contract does not align enough."""
    short: Counter[tuple[str, str, int, int]] = Counter()
    seen = {
        (access.instruction, access.kind, access.place.region, access.place.offset, access.size)
        for segment in segments
        for access in segment.accesses
        if access.place is not None and access.place.region != CODE
    }
    architecture = segments.target.architecture
    for _, kind, region, offset, size in seen:
        given = _GIVEN.get(region, architecture.stack_alignment)
        from_aligned = offset - (architecture.popped_at_return if region == STACK else 0)
        at = min(given, from_aligned & -from_aligned) if from_aligned else given
        if size > at:
            short[kind, region, size, at] += 1
    return tuple(
        f"alignment: {count} {kind}{'s' if count > 1 else ''} of {size} bytes at {region}, which "
        f"is aligned to {at} there"
        for (kind, region, size, at), count in sorted(short.items())
    )
