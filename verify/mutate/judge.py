"""The complete proof of one mutant, up to the first property that is seen broken."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from verify.lift.angr_import import import_angr
from verify.lift.select import engine_for
from verify.mutate.model import Judgement, Mutant
from verify.options import Options
from verify.qemu import QemuError
from verify.target import Target
from verify.verdict import Contract, Verdict

if TYPE_CHECKING:
    from verify.lift.engine import Engine
    from verify.prove.induction import Hypothesis
    from verify.prove.segments import Segments
    from verify.solve import Decided
    from verify.witness import Breach

_FEW = 3
"""Calls that are tried first, since most mutants are broken for any inputs."""
_BUDGET = 4_000_000
"""What all queries of one proof may take, in Z3 resource units: twice what any program here needs,
since a loop that runs as long as a word of the state says leads to many hard ones."""


@dataclass(frozen=True)
class _Open:
    """A property that is not proved, with its obligations, and why not."""

    property: str
    decided: Sequence[Decided]
    reason: str


def judge(base: Target, mutant: Mutant, options: Options, *, every: bool = False) -> Judgement:
    """Prove the mutant of a target, property by property.

    It is REFUTED by the first property that is not proved and is seen broken when the mutant's
    bytes are executed under QEMU, or by another one that the same execution shows broken; with
    `every`, all properties are decided first. What is neither proved nor seen broken is UNKNOWN.
    """
    start = time.perf_counter()
    import_angr()
    target = mutant.applied(base)
    hypothesis = _hypothesis(base)
    verdict, refuted_by, reason = _judge(target, options, every, hypothesis)
    if verdict is Verdict.UNKNOWN and hypothesis is not None:
        verdict, refuted_by, reason = _judge(target, options, every, None)
    return Judgement(
        mutant,
        _text(_reader(base), mutant),
        _text(engine_for(target.architecture, target.code), mutant),
        verdict,
        time.perf_counter() - start,
        refuted_by,
        reason,
    )


def judge_with_equivalence(
    base: Target, mutant: Mutant, options: Options, *, every: bool = False
) -> Judgement:
    """As `judge`; a PROVED mutant gets an argument for its equivalence where there is one. Those of
    a getrandom are judged by `judge_getrandom`, always up to the first property."""
    if options.contract is Contract.GETRANDOM:
        from verify.mutate.judge_getrandom import judge_getrandom

        return judge_getrandom(base, mutant, options)
    judgement = judge(base, mutant, options, every=every)
    if judgement.verdict is not Verdict.PROVED:
        return judgement
    from verify.mutate.equivalence import equivalence

    return replace(judgement, equivalent=equivalence(base, mutant.applied(base)))


@lru_cache(maxsize=4)
def _hypothesis(base: Target) -> Hypothesis | None:
    """That of the function itself, which most mutants keep."""
    from verify.prove.segments import segments_of

    loop = segments_of(base, engine_for(base.architecture, base.code)).loop
    return loop.hypothesis if loop is not None else None


def _judge(
    target: Target, options: Options, every: bool, hypothesis: Hypothesis | None
) -> tuple[Verdict, str, str]:
    from verify.decide import ALL_SPENT, exhausted, start_afresh

    start_afresh(_BUDGET)
    verdict, refuted_by, reason = _proof(target, options, every, hypothesis)
    if verdict is Verdict.UNKNOWN and exhausted():
        reason = f"{reason} ({ALL_SPENT})"
    return verdict, refuted_by, reason


def _proof(
    target: Target, options: Options, every: bool, hypothesis: Hypothesis | None
) -> tuple[Verdict, str, str]:
    from verify.lift.machine import Unsupported
    from verify.properties import PROPERTIES
    from verify.prove.segments import segments_of
    from verify.solve import Solver

    solver = Solver(options)
    try:
        engine = engine_for(target.architecture, target.code)
        segments = segments_of(target, engine, hypothesis)
    except Unsupported as error:
        everything = [_Open(claim.id, (), str(error)) for claim in PROPERTIES]
        return _confirmed(target, None, everything)
    induction = solver.decide_all(segments.induction, lambda _: None)
    if (failed := next((one for one in induction if not one.proved), None)) is not None:
        everything = [_Open(claim.id, induction, _reason(failed)) for claim in PROPERTIES]
        return _confirmed(target, segments, everything)
    still_open: list[_Open] = []
    proved: set[str] = set()
    for claim in PROPERTIES:
        stated = claim.state(segments)
        decided = solver.decide_all(stated.obligations, lambda _: None)
        failed = next((one for one in decided if not one.proved), None)
        if failed is None and stated.obligations and not stated.undecided:
            proved.add(claim.id)
            continue
        reason = _reason(failed) if failed is not None else "; ".join(stated.undecided)
        still_open.append(_Open(claim.id, decided, reason or "nothing was claimed"))
        if not every:
            outcome = _confirmed(target, segments, still_open[-1:], proved)
            if outcome[0] is Verdict.REFUTED:
                return outcome
    if not still_open:
        return _proved(target)
    return _confirmed(target, segments, still_open, proved)


def _fault(breach: Breach) -> str:
    return f"fault of the harness: {breach.property} was proved, but {breach.what}"


def _reason(failed: Decided) -> str:
    return f"{failed.check.id}: {failed.check.reason or failed.check.verdict.value}"


def _proved(target: Target) -> tuple[Verdict, str, str]:
    """Every property was proved: so no execution may show anything broken."""
    from verify.witness import search

    try:
        broken = search(target)
    except QemuError as error:
        return Verdict.PROVED, "", f"not executed: {error}"
    if broken:
        return Verdict.UNKNOWN, "", _fault(broken[0])
    return Verdict.PROVED, "", ""


def _confirmed(
    target: Target,
    segments: Segments | None,
    still_open: Sequence[_Open],
    proved: Collection[str] = (),
) -> tuple[Verdict, str, str]:
    """Execute the mutant for the properties that are not proved."""
    from verify.refute import seen_broken
    from verify.witness import candidates, search

    reason = still_open[0].reason
    failed: Mapping[str, Sequence[Decided]] = {one.property: one.decided for one in still_open}
    try:
        broken = {one.property: one for one in search(target, candidates(target)[:_FEW])}
        if not failed.keys() & broken.keys():
            seen = seen_broken(target, segments, failed)
            broken = {name: breach for name, (breach, _) in seen.items()}
    except QemuError as error:
        return Verdict.UNKNOWN, "", f"{reason} ({error})"
    for name in broken:
        if name in proved:
            return Verdict.UNKNOWN, "", _fault(broken[name])
    for name in (*failed, *broken):
        if name in broken:
            return Verdict.REFUTED, name, broken[name].what
    return Verdict.UNKNOWN, "", reason


@lru_cache(maxsize=4)
def _reader(base: Target) -> Engine:
    return engine_for(base.architecture, base.code)


def _text(engine: Engine, mutant: Mutant) -> str:
    """The instructions at the mutant's place as text."""
    shown = engine.disassemble(mutant.address, len(mutant.before))
    return "; ".join(text for _, text in shown) or "not an instruction"
