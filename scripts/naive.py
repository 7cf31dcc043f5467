"""The comparison for the bench: one whole block of a binary against the specification, as one
query.

`python -m scripts.naive FILE SECONDS` executes the function symbolically for one block, from its
entry to its return, asks Z3 whether any of the 16 words can differ from the specification's, and
prints the answer and the seconds that building and deciding took, as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from specs.chacha20 import STATE_WORDS, block
from specs.z3words import z3_words
from verify.batch import targets_in
from verify.errors import InputError
from verify.lift.select import engine_for
from verify.target import Target


def whole_block(target: Target) -> tuple[list[object], list[object]]:
    """The words that the function writes for one block, and those of the specification."""
    engine = engine_for(target.architecture, target.code)
    import z3
    from angr import claripy

    from verify.prove.cfg import control_flow
    from verify.prove.explore import explore
    from verify.prove.setting import Variables, entry_machine
    from verify.terms import Linear, to_z3

    names = Variables(target.architecture.bits)
    machine = entry_machine(target, engine, names)
    nblocks = target.architecture.register(target.architecture.arguments[3])
    offset, size = engine.layout.registers[nblocks.storage]
    machine.registers.write(offset, claripy.BVV(1, 8 * size))
    flow = control_flow(engine, target.function.address)
    (path,) = explore(engine, flow, machine, (), ()).paths
    cells = path.machine.memory.region("dst", Linear(names.pointer_bits, 0))
    words = [path.machine.converter.term(cells.read(4 * n, 4)) for n in range(STATE_WORDS)]
    key = [z3.BitVec(word.name, 32) for word in names.key]
    count = z3.BitVec(names.count.name, 64)
    low, high = z3.Extract(31, 0, count), z3.Extract(63, 32, count)
    return to_z3(words, z3.main_ctx()), list(block(z3_words(), key, low, high))


def decide(found: list[object], expected: list[object], seconds: float) -> str:
    """Z3's answer to whether the words can differ."""
    import z3

    solver = z3.SolverFor("QF_BV")
    solver.set("timeout", int(1000 * seconds))
    solver.add(z3.Or([a != b for a, b in zip(found, expected, strict=True)]))
    return str(solver.check())


def main(file: str, seconds: float) -> None:
    """See above."""
    (target,) = targets_in(file, None)
    if isinstance(target, InputError):
        raise target
    start = time.perf_counter()
    answer = decide(*whole_block(target), seconds)
    elapsed = time.perf_counter() - start
    sys.stdout.write(json.dumps({"answer": answer, "seconds": round(elapsed, 3)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
