"""Execute histories under QEMU, and note the registers in front of some instructions, each time
that one of them is come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.history.execution import SECONDS, TOGETHER, go_on
from verify.history.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verify.history.model import History, Program

MOST_VISITS = 400
"""So often one history may come to such an instruction; no more is noted of it then."""


@dataclass(frozen=True)
class Visit:
    """An address in the image that is come to, and all registers in front of it by the names of
    the runner."""

    address: int
    registers: Mapping[str, int]


class Watching(Run):
    """A history on its way that stops in front of each of these instructions, too.

    A trap stands in place of all of them but the one that it goes on with. So that this one is
    noticed when it is come to again, any way back to it must lead through another of them.
    """

    def __init__(
        self,
        program: Program,
        history: History,
        seed: int | None,
        image: int,
        watched: frozenset[int],
    ) -> None:
        self.watched = watched
        self.visits: list[Visit] = []
        self._passed: frozenset[int] = frozenset()
        super().__init__(program, history, seed, image, TOGETHER)

    @property
    def traps(self) -> frozenset[int]:
        """Where it must stop."""
        return super().traps | (self.watched - self._passed)

    def _interrupt(self, at: int) -> bool:
        if at not in self.watched:
            self._passed = frozenset()
            return super()._interrupt(at)
        self.visits.append(Visit(at, dict(self.registers)))
        self._passed = frozenset({at})
        self.going = len(self.visits) < MOST_VISITS
        return True


def watch(
    program: Program,
    histories: Sequence[History],
    watched: frozenset[int],
    seconds: float = SECONDS,
    seeds: Sequence[int | None] = (),
) -> list[tuple[Visit, ...]]:
    """The visits of each history, which is without interruptions, in order. The image lies at the
    same address for histories of the same number. Raises QemuError as `execute` does."""
    runs = [
        Watching(program, history, seed, number, watched)
        for number, (history, seed) in enumerate(
            zip(histories, seeds or range(len(histories)), strict=True)
        )
    ]
    go_on(program, runs, seconds)
    return [tuple(run.visits) for run in runs]
