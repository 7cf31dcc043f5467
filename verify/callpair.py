"""Two calls of a getrandom that meet the same but for secrets, and in which a property shows to be
broken, as results hold them.

They have all that is needed to execute them again.
"""

from __future__ import annotations

from dataclasses import dataclass

from verify.callhistory import CallOutcome, HistoryCall
from verify.counterexample import Observation


@dataclass(frozen=True)
class CallPair:
    """Two calls, each by itself.

    `what` says how a secret shows, on one line; `outcomes` is what the calls did. `seeds` are those
    of what registers and memory held of which nothing is said here, None for zeros. `observation`
    is what was looked at. `account` is the same in words, line by line. `executed_by` names what
    ran the bytes.
    """

    what: str
    calls: tuple[HistoryCall, ...]
    seeds: tuple[int | None, ...]
    outcomes: tuple[CallOutcome, ...]
    observation: Observation
    account: tuple[str, ...]
    executed_by: str
