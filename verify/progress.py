"""How far a proof is, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """What a live display shows: obligations decided so far, how many are known of, the name of
    the one at hand. `stage` is one word (`load`, `execute`, `decide`, `replay`)."""

    stage: str
    name: str
    done: int
    total: int


Report = Callable[[Progress], None]
