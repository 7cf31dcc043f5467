"""What a pair of calls has shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.counterexample import Observation
    from verify.getrandom.claims import Claim
    from verify.getrandom.execution.pairs import Pair
    from verify.history import Done


@dataclass(frozen=True)
class Seen:
    """A pair of calls that breaks a property, as `text` says. `done` is what they did,
    `observation` what was looked at."""

    property: Claim
    text: str
    pair: Pair
    done: tuple[Done, Done]
    observation: Observation
