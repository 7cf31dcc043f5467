"""Look for a breach of any property without knowing where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify import qemu
from verify.witness.breach import Breach, breaches
from verify.witness.execution import execute
from verify.witness.inputs import candidates, other_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.target import Target
    from verify.witness.inputs import Inputs


def search(target: Target, inputs: Sequence[Inputs] | None = None) -> tuple[Breach, ...]:
    """The first breach of each property that the inputs (or the pool) and their twins with
    another key show.

    Raises QemuError when QEMU is missing, or when it could not execute the function to its end
    and so nothing was found.
    """
    pool = candidates(target) if inputs is None else tuple(inputs)
    done = execute(target, [*pool, *(other_key(one) for one in pool)])
    found: dict[str, Breach] = {}
    for execution, twin in zip(done[: len(pool)], done[len(pool) :], strict=True):
        for breach in breaches(execution, twin):
            found.setdefault(breach.property, breach)
    if not found:
        for execution in done:
            if execution.inconclusive:
                raise qemu.QemuError(execution.inconclusive)
    return tuple(found.values())
