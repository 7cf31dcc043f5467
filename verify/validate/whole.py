"""Whole calls of a function under QEMU, compared with what the segments of its proof say.

The kernel's own test of this function (tools/testing/selftests/vDSO/vdso_test_chacha.c) has the
same shape: random keys and counters, and every split of a long output into two calls. Here the
other side is the symbolic result, and everything is compared: memory, registers, and the stack.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from specs.contract import KEY_WORDS
from verify import qemu
from verify.arch import Architecture
from verify.lift.engine import CodeReader, Engine
from verify.lift.machine import Unsupported
from verify.lift.select import engine_for
from verify.prove.segments import segments_of
from verify.target import Target, Variant
from verify.validate.model import TRIALS, Difference, Whole
from verify.validate.symbolic import End, NotComparable, Symbolic
from verify.variants import variants_of
from verify.witness import Execution, Inputs
from verify.witness.execution import execute, load_offset

MOST_BLOCKS = 8
SPLIT = 128
"""Blocks of which every split into two calls is made."""
WRAPS = tuple(1 << bits for bits in (31, 32, 63, 64))
"""Counters at which the sign of a word changes, or it wraps."""
_BATCH = 128


def calls(trials: int, seed: int = 0, split: int = SPLIT) -> Iterator[Inputs]:
    """So many random calls of 1 to MOST_BLOCKS blocks, half of them with counters around the
    wraps, and the two calls of each split of `split` blocks."""
    values = random.Random(seed)  # chooses inputs to compare, no secrets

    def key() -> tuple[int, ...]:
        return tuple(values.getrandbits(32) for _ in range(KEY_WORDS))

    for number in range(trials):
        nblocks = values.randint(1, MOST_BLOCKS)
        counter = values.getrandbits(64)
        if number % 2:
            counter = (values.choice(WRAPS) - values.randint(0, nblocks)) % (1 << 64)
        yield Inputs(key(), counter, nblocks, seed=seed + number)
    for first in range(1, split):
        # The carry into the upper word falls into the first call, the second, or between them.
        counter, both, number = (1 << 32) - split // 2, key(), seed + trials + 2 * first
        yield Inputs(both, counter, first, seed=number)
        yield Inputs(both, counter + first, split - first, seed=number + 1)


Lifter = Callable[[Architecture, CodeReader], Engine]


def compare(
    target: Target,
    variant: str,
    trials: int = TRIALS,
    seed: int = 0,
    *,
    split: int = SPLIT,
    lifter: Lifter = engine_for,
) -> Whole:
    """Compare `calls` of a function whose bytes are a variant's; `lifter` makes the engine."""
    whole = Whole(target.source, target.function.name, variant)
    try:
        # Where QEMU puts the code, so that addresses in registers are the same.
        moved = target.moved(load_offset(target))
        symbolic = Symbolic(segments_of(moved, lifter(target.architecture, moved.code)))
        whole = replace(whole, registers=len(symbolic.registers))
        pending = list(calls(trials, seed, split))
        while pending:
            batch, pending = pending[:_BATCH], pending[_BATCH:]
            for execution in execute(moved, batch):
                if execution.inconclusive:
                    raise NotComparable(execution.inconclusive)
                found = difference(execution, symbolic.follow(execution))
                whole = replace(
                    whole,
                    trials=whole.trials + 1,
                    mismatches=whole.mismatches + (found is not None),
                    first=whole.first or found,
                )
    except (Unsupported, NotComparable, qemu.QemuError) as error:
        return replace(whole, reason=str(error))
    return whole


def difference(execution: Execution, end: End) -> Difference | None:
    """The first thing in which an execution differs from what the segments say."""
    inputs = execution.inputs

    def at(where: str, expected: int, got: int) -> Difference:
        return Difference(
            where, expected, got, inputs.key, inputs.counter, inputs.nblocks, inputs.seed
        )

    returned = qemu.machine_of(execution.target.architecture.name).space.returned
    stopped = returned if execution.pc is None else execution.pc
    if stopped != end.target:
        return at("control flow", stopped, end.target)
    arenas = execution.placement.arenas
    for arena, theirs, ours in zip(arenas, execution.end.memory, end.memory, strict=True):
        if theirs != ours:
            offset = next(n for n, one in enumerate(theirs) if one != ours[n])
            where = execution.placement.describe(arena.address + offset)
            return at(f"memory at {where}", theirs[offset], ours[offset])
    for name, value in end.registers.items():
        if execution.register(name) != value:
            return at(name, execution.register(name), value)
    return None


def compare_all(
    targets: Iterable[Target], trials: int = TRIALS, seed: int = 0, *, split: int = SPLIT
) -> tuple[Whole, ...]:
    """Compare every variant of every function, those in the same memory once."""
    found: dict[tuple[object, ...], Whole] = {}
    for target in targets:
        reason = target.unusable
        variants: tuple[Variant, ...] = ()
        try:
            variants = () if reason else variants_of(target)
        except Unsupported as error:
            reason = str(error)
        if reason:
            whole = Whole(target.source, target.function.name, "", reason=reason)
            found[target.source, target.function.name] = whole
        for variant in variants:
            patched = target.patched(variant)
            key = (patched.architecture.name, patched.function.address, patched.segments)
            if key not in found:
                found[key] = compare(patched, variant.name, trials, seed, split=split)
    return tuple(found.values())
