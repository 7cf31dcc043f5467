"""Judges some mutants of a binary in one process and prints the median time as JSON.

`python -m scripts.mutants FILE COUNT`; the time is wall time in seconds, on one core.
"""

from __future__ import annotations

import json
import statistics
import sys

from verify.batch import targets_in
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.target import Target

SEED = 1


def median(file: str, count: int) -> float:
    """The median time of `count` mutants behind the first one, which prepares the others."""
    import_angr()
    from verify.mutate.command import instructions_of
    from verify.mutate.judge import judge
    from verify.mutate.operators import mutants_of, sample

    (target,) = targets_in(file, None)
    assert isinstance(target, Target), target
    chosen = sample(mutants_of(target, instructions_of(target)), count + 1, SEED)
    judged = [judge(target, mutant, Options()) for mutant in chosen]
    return statistics.median(one.seconds for one in judged[1:])


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"seconds": median(sys.argv[1], int(sys.argv[2]))}))
