"""Proofs of several getrandoms at once, each in a process of its own.

Nothing but a result comes back from such a process, so that there are no certificates; a proof of
ChaCha20, which has one, is done here and decides several obligations at once instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from verify.errors import InputError
from verify.forked import Tell, forked
from verify.lift.angr_import import import_angr
from verify.verdict import Contract

if TYPE_CHECKING:
    from verify.options import Options
    from verify.progress import Progress, Report
    from verify.target import Target
    from verify.verdict import Result


class AtOnce:
    """The proofs of the first targets, as many as `jobs` processes have equal shares of.

    Those that are left then are few, and one proof of those has all the processes. `progress` is
    told of the proof whose result is waited for.
    """

    def __init__(self, targets: Sequence[Target], options: Options, progress: Report) -> None:
        several = options.contract is Contract.GETRANDOM and options.jobs > 1
        self.left = len(targets) // options.jobs * options.jobs if several else 0
        """How many results there will be yet."""
        self._progress = progress
        self._given = 0
        one = replace(options, jobs=1)
        self._results = forked(
            [partial(_proved, target, one) for target in targets[: self.left]],
            options.jobs,
            self._heard,
        )

    def next(self) -> Result:
        """The next result; raises what its proof has raised, or WorkerError."""
        # So that no process has to do it.
        import_angr()
        self.left -= 1
        self._given += 1
        result = next(self._results)
        if isinstance(result, Exception):
            raise result
        return result

    def close(self) -> None:
        """End all that is under way."""
        self._results.close()

    def _heard(self, number: int, progress: Progress) -> None:
        if number == self._given - 1:
            self._progress(progress)


def _proved(target: Target, options: Options, tell: Tell) -> Result | InputError:
    from verify.run import prove

    try:
        return prove(target, options, tell)
    except InputError as error:
        return error
