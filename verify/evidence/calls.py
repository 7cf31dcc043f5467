"""The calls that a counterexample consists of."""

from __future__ import annotations

from verify.verdict import Counterexample
from verify.witness import Inputs


def calls_of(counterexample: Counterexample) -> tuple[Inputs, tuple[Inputs, ...]]:
    """The call of a counterexample, and the one that it is compared with, if there is one."""
    inputs = Inputs(
        counterexample.key,
        counterexample.counter,
        counterexample.nblocks,
        counterexample.in_place,
        counterexample.seed,
        {one.name: one.value for one in counterexample.registers},
    )
    if not (counterexample.other_key or counterexample.other_registers):
        return inputs, ()
    other = Inputs(
        counterexample.other_key or inputs.key,
        inputs.counter,
        inputs.nblocks,
        inputs.in_place,
        inputs.seed,
        {one.name: one.value for one in counterexample.other_registers},
    )
    return inputs, (other,)
