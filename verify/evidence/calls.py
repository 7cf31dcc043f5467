"""The calls that a counterexample consists of, and the block that comes of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specs import chacha20
from specs.contract import BLOCK_BYTES
from verify.counterexample import Counterexample
from verify.witness import Inputs, execute

if TYPE_CHECKING:
    from verify.target import Target


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


def block_words(
    target: Target, inputs: Inputs, block: int | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The 16 words of that block of output, in the specification and as the real bytes write them;
    none for no block."""
    if block is None:
        return (), ()
    high, low = divmod((inputs.counter + block) % 2**64, 2**32)
    expected = chacha20.block(chacha20.INTS, inputs.key, low, high)
    (done,) = execute(target, [inputs])
    data = done.memory("dst", BLOCK_BYTES * block, BLOCK_BYTES)
    actual = (int.from_bytes(data[at : at + 4], "little") for at in range(0, BLOCK_BYTES, 4))
    return expected, tuple(actual)
