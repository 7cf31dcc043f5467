"""What becomes of one mutant of a getrandom.

Histories are executed first, since most mutants depart from the specification in the first ones. Of
the others each that a comparison with the function shows to do the same needs no proof of its own;
the rest get one. What is not proved is executed with interruptions as well.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from verify.lift.angr_import import import_angr
from verify.lift.select import engine_for
from verify.mutate.model import Judgement, Mutant
from verify.qemu import QemuError
from verify.verdict import Contract, Verdict

if TYPE_CHECKING:
    from verify.history import Program
    from verify.options import Options
    from verify.target import Target


@dataclass(frozen=True)
class _Said:
    verdict: Verdict
    refuted_by: str = ""
    reason: str = ""
    equivalent: str = ""


def judge_getrandom(base: Target, mutant: Mutant, options: Options) -> Judgement:
    """Execute, compare and prove the mutant of a getrandom.

    It is REFUTED by the first property that an execution breaks. One that is shown to do what the
    function does, which is proved, is not proved itself: it is UNKNOWN, and `equivalent` says why
    it does the same.
    """
    start = time.perf_counter()
    import_angr()
    said = _judged(base, mutant, options)
    shown = (
        "; ".join(text for _, text in engine.disassemble(mutant.address, len(mutant.before)))
        for engine in (
            engine_for(one.architecture, one.code) for one in (base, mutant.applied(base))
        )
    )
    before, after = (text or "not an instruction" for text in shown)
    seconds = time.perf_counter() - start
    return Judgement(
        mutant,
        before,
        after,
        said.verdict,
        seconds,
        said.refuted_by,
        said.reason,
        said.equivalent,
    )


def _judged(base: Target, mutant: Mutant, options: Options) -> _Said:
    from verify.mutate.equivalence import equivalence

    target = mutant.applied(base)
    program = _mutated(_program(base, options), target)
    try:
        found = _executed(program, interrupted=False)
        if found is not None:
            return found
        if argument := equivalence(base, target, Contract.GETRANDOM):
            return _Said(Verdict.UNKNOWN, reason="not proved itself", equivalent=argument)
        reason = _not_proved(target, options)
        found = _executed(program, interrupted=True)
    except QemuError as error:
        return _Said(Verdict.UNKNOWN, reason=str(error))
    if found is None:
        return _Said(Verdict.UNKNOWN if reason else Verdict.PROVED, reason=reason)
    if not reason:
        fault = f"fault of the harness: it was proved, but {found.refuted_by}: {found.reason}"
        return _Said(Verdict.UNKNOWN, reason=fault)
    return found


def _executed(program: Program, *, interrupted: bool) -> _Said | None:
    """What an execution breaks, None where none breaks anything."""
    from verify.getrandom.execution.interference import interferences
    from verify.getrandom.execution.refute import refutations

    found = refutations(program, program.instructions if interrupted else (), every=False)
    for name, one in found.items():
        return _Said(Verdict.REFUTED, name, f"call {len(one.history) - 1}: {one.text}")
    for claim, shown in interferences(program, accesses=False).items():
        return _Said(Verdict.REFUTED, claim.value, shown.text)
    return None


def _not_proved(target: Target, options: Options) -> str:
    """Why not every property is proved; empty if all are."""
    from verify.getrandom.result import prove_variant

    asked = replace(options, replay=False, jobs=1)
    result = prove_variant(target, (), asked, lambda _: None)
    open_ = [one for one in result.properties if one.verdict is not Verdict.PROVED]
    return f"{open_[0].property}: {open_[0].reason}" if open_ else ""


@lru_cache(maxsize=4)
def _program(base: Target, options: Options) -> Program:
    """The function itself, ready to be executed; raises Unsupported."""
    from verify.getrandom.execution.program import program_of
    from verify.getrandom.layout import layout_of

    return program_of(base, layout_of(base, options))


def _mutated(program: Program, target: Target) -> Program:
    """The same with the code of a mutant."""
    from verify.getrandom.execution.program import system_calls_of

    return replace(
        program,
        segments=tuple((segment.address, segment.data) for segment in target.segments),
        system_calls=system_calls_of(target, program.instructions),
    )
