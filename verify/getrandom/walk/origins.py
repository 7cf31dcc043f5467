"""What the variables of an execution stand for, and which others they may depend on with it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from verify.getrandom.walk.events import BatchRead
from verify.terms import Term, var

BATCH, MOVED, JOINED = "batch", "moved", "joined"
"""What variables are called that stand for bytes of the batch; for a register that may be anything
at the head of a loop; and for one that is not the same on paths that are joined."""
DESTROYED, BELOW = "destroyed", "below"
"""Those for what a call may leave in a register, and on the stack."""

COPIED = var("copied", 8)
"""Stands for bytes of the batch that were written to the buffer."""
DISCARDED = var("discarded", 8)
"""Stands for such bytes of an attempt that has failed."""
LEFT = var("left", 8)
"""Stands for what a call left, but for what it may depend on."""


class Origins:
    """Where the variables come from; shared by all paths.

    `read` says what those for bytes of the batch were read from. `sources` are, of a variable that
    stands for something unknown, those that this may depend on. `signed` are, of one that stands
    for a signed address, that address and the stack pointer under which it was signed.
    `of_namespace` are those that stand for what clock_mode was.
    """

    def __init__(self) -> None:
        self._numbers = count(1)
        self.read: dict[Term, BatchRead] = {}
        self.sources: dict[Term, frozenset[Term]] = {}
        self.signed: dict[Term, tuple[Term, Term]] = {}
        self.of_namespace: frozenset[Term] = frozenset()

    def fresh(self, what: str, bits: int) -> Term:
        """A variable that is nowhere else."""
        return var(f"{what}@{next(self._numbers)}", bits)

    def stands_for(self, unknown: Term, sources: Iterable[Term]) -> None:
        """What a variable stands for may depend on these variables as well."""
        # All registers behind a call share the same set.
        before, more = self.sources.get(unknown), frozenset(sources)
        self.sources[unknown] = more if before is None else before | more

    def reached(self, held: Iterable[Term]) -> frozenset[Term]:
        """These variables, and all that they may depend on."""
        found: set[Term] = set()
        pending = set(held)
        while pending:
            found |= pending
            behind = {id(one): one for one in map(self.sources.get, pending) if one is not None}
            pending = set().union(*behind.values()) - found
        return frozenset(found)

    def settled(
        self, held: Iterable[Term], copied: frozenset[Term], token: Term
    ) -> frozenset[Term]:
        """Variables of which the same can be said on any path as of `held` on one that has copied
        those bytes of the batch: `token` stands for them."""
        found = set()
        for one in self.reached(held):
            if one in copied or one is COPIED:
                found.add(token)
            elif one not in self.sources:
                found.add(one)
            elif is_called(one, DESTROYED) or is_called(one, BELOW):
                found.add(LEFT)
        return frozenset(found)


def is_called(variable: Term, what: str) -> bool:
    """Whether `Origins.fresh` made a variable for this."""
    return variable.name.startswith(f"{what}@")
