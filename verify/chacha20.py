"""Prove or refute each property of ChaCha20 in one variant of a target."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verify.lift.select import engine_for
from verify.options import Options
from verify.progress import Progress, Report
from verify.qemu import QemuError
from verify.summary import target_summary, tool_versions
from verify.target import Alternative, Target
from verify.validate import unchecked_forms
from verify.verdict import (
    Caveat,
    Check,
    LoopSummary,
    PropertyResult,
    Residue,
    Result,
    StackWrite,
    Verdict,
)

if TYPE_CHECKING:
    from verify.anatomy import Anatomy
    from verify.lift.engine import Engine
    from verify.lift.machine import Unsupported
    from verify.properties import Property, Stated
    from verify.prove.segments import Segments
    from verify.refute import Refutation
    from verify.solve import Decided, Solver

Certify = Callable[["Segments", Result], None]
"""Told of what a variant does, and of its result."""

_CAVEATS = (Caveat.REGIONS_DISJOINT, Caveat.SOLVER_TRUSTED)
"""Those that every verdict rests on."""


@dataclass
class _Judged:
    """A property on the way to its result."""

    claim: Property
    stated: Stated
    decided: list[Decided]
    seconds: float
    verdict: Verdict
    reason: str = ""
    refutation: Refutation | None = None


def nothing_said(target: Target, options: Options, reason: str) -> Result:
    """The result where the bytes that run are not known: nothing is proved or executed."""
    from verify.properties import PROPERTIES

    claims = [claim for claim in PROPERTIES if claim.id in options.properties]
    judged = [_unsupported(claim, reason) for claim in claims]
    return Result(
        target_summary(target, None),
        tuple(_result(None, target, one) for one in judged),
        caveats=(Caveat.LIFTER_UNCHECKED, *_CAVEATS, Caveat.CODE_UNPATCHED),
        tools=tool_versions(target, executed=False),
        lifters=(target.architecture.lifter.engine,),
    )


def prove_variant(
    target: Target,
    left: tuple[Alternative, ...],
    options: Options,
    progress: Report,
    certify: Certify,
) -> Result:
    """Prove one variant, which the target's bytes are. `left` are the image's alternatives that
    are in no variant, because no instruction that they change is reached."""
    start = time.perf_counter()
    from verify.decide import start_afresh
    from verify.lift.machine import Unsupported
    from verify.properties import PROPERTIES
    from verify.prove.explore import CallsFunction
    from verify.prove.segments import segments_of
    from verify.solve import Solver
    from verify.variants import changed_constants, stub_at, unlinked

    claims = [claim for claim in PROPERTIES if claim.id in options.properties]
    start_afresh()
    solver = Solver(options)
    progress(Progress("execute", target.function.name, 0, 0))
    segments: Segments | None = None
    judged: list[_Judged] = []
    not_final = ""
    engine = engine_for(target.architecture, target.code)
    try:
        not_final = unlinked(target, engine)
        if not not_final:
            segments = segments_of(target, engine)
            not_final = changed_constants(target, segments, left)
            if not not_final:
                judged = _judge(segments, claims, solver, progress)
    except Unsupported as error:
        reason = _with_instruction(target, engine, error)
        judged = [_unsupported(claim, reason) for claim in claims]
        if isinstance(error, CallsFunction) and error.callee is not None:
            stub = stub_at(target, error.callee)
            not_final = f"{error}, {stub}" if stub else ""
    if not_final:
        # Other bytes will run, so that executing these shows nothing.
        judged = [_unsupported(claim, not_final) for claim in claims]
    else:
        _refute(target, segments, judged, options, progress)
    summary = target_summary(target, segments)
    unchecked = _unchecked(target, segments)
    anatomies, loops = _anatomy(segments, judged)
    result = Result(
        summary,
        tuple(_result(segments, target, one) for one in judged),
        _stack_writes(segments, options),
        _discipline(segments, judged),
        _residues(segments, options),
        _findings(target, segments, unchecked),
        loops,
        _caveats(target, unchecked),
        tool_versions(target, executed=any(one.refutation is not None for one in judged)),
        time.perf_counter() - start,
        lifters=(target.architecture.lifter.engine,),
        anatomies=anatomies,
    )
    if segments is not None:
        certify(segments, result)
    return result


def _judge(
    segments: Segments, claims: Sequence[Property], solver: Solver, progress: Report
) -> list[_Judged]:
    """State and decide every property; each rests on the induction's obligations, too."""
    stated = [(claim, claim.state(segments)) for claim in claims]
    total = len(segments.induction) + sum(len(one.obligations) for _, one in stated)
    done = 0

    def begins(name: str) -> None:
        nonlocal done
        progress(Progress("decide", name, done, total))
        done += 1

    induction = solver.decide_all(segments.induction, lambda o: begins(o.id))
    judged = []
    for claim, one in stated:
        start = time.perf_counter()
        decided = solver.decide_all(one.obligations, lambda o: begins(o.id))
        seconds = time.perf_counter() - start
        verdict, reason = _verdict([*induction, *decided], one)
        judged.append(_Judged(claim, one, [*induction, *decided], seconds, verdict, reason))
    return judged


def _verdict(decided: Sequence[Decided], stated: Stated) -> tuple[Verdict, str]:
    """PROVED, VACUOUS or UNKNOWN with a reason: a candidate is not yet a refutation."""
    if stated.undecided:
        return Verdict.UNKNOWN, "; ".join(stated.undecided)
    failed = next((one for one in decided if not one.proved), None)
    if failed is None:
        if not stated.obligations:
            return Verdict.UNKNOWN, "nothing was claimed"
        return Verdict.PROVED, ""
    check = failed.check
    if check.verdict is Verdict.VACUOUS:
        return Verdict.VACUOUS, f"{check.id}: {check.reason}"
    if check.verdict is Verdict.UNKNOWN:
        return Verdict.UNKNOWN, f"{check.id}: {check.reason or 'not decided'}"
    return Verdict.UNKNOWN, f"{check.id}: a counterexample candidate did not reproduce"


def _with_instruction(target: Target, engine: Engine, error: Unsupported) -> str:
    """What is not supported, with the instruction as assembly and its bytes if the image has it."""
    address = error.address
    code = target.code(address, target.instruction_size(address))
    if code is None:
        return str(error)
    text = dict(engine.disassemble(address, len(code))).get(address, "")
    return f"{address:#x}: {text} ({code.hex()}): {error.reason}"


def _unsupported(claim: Property, reason: str) -> _Judged:
    from verify.properties import Stated

    return _Judged(claim, Stated(()), [], 0.0, Verdict.UNKNOWN, reason)


def _refute(
    target: Target,
    segments: Segments | None,
    judged: Sequence[_Judged],
    options: Options,
    progress: Report,
) -> None:
    """Execute the real bytes for what is not proved; what they show decides."""
    failed = {one.claim.id: one.decided for one in judged if one.verdict is not Verdict.PROVED}
    if not failed:
        return
    if not options.replay:
        for one in judged:
            if one.claim.id in failed and any(d.candidate for d in one.decided):
                one.reason += " (not tried: counterexamples are not executed on request)"
        return
    from verify.refute import refutations

    progress(Progress("replay", target.function.name, 0, 0))
    start = time.perf_counter()
    try:
        found = refutations(target, segments, failed)
    except QemuError as error:
        for one in judged:
            if one.claim.id in failed:
                one.reason += f" ({error})"
        return
    for one in judged:
        one.refutation = found.get(one.claim.id)
        if one.refutation is None:
            if one.claim.id in failed and any(decided.candidate for decided in one.decided):
                one.reason += "; this is a fault of the harness, please report it"
            continue
        what = one.refutation.breach.what
        if one.verdict is Verdict.PROVED:
            one.verdict = Verdict.UNKNOWN
            one.reason = f"fault of the harness: proved, but the real bytes break it ({what})"
            one.refutation = None
        else:
            one.verdict, one.reason = Verdict.REFUTED, what
            one.seconds += time.perf_counter() - start


def _result(segments: Segments | None, target: Target, one: _Judged) -> PropertyResult:
    checks = [decided.check for decided in one.decided]
    if one.verdict is not Verdict.REFUTED:
        # A candidate that no execution showed is no refutation.
        checks = [_not_reproduced(check) for check in checks]
    counterexample = None
    if one.refutation is not None:
        from verify.evidence.counterexample import counterexample_of

        counterexample = counterexample_of(target, segments, one.refutation, one.decided)
    return PropertyResult(
        one.claim.id,
        one.claim.title,
        one.verdict,
        one.seconds,
        tuple(checks),
        one.stated.findings,
        one.reason,
        counterexample,
    )


def _not_reproduced(check: Check) -> Check:
    if check.verdict is not Verdict.REFUTED:
        return check
    return replace(
        check, verdict=Verdict.UNKNOWN, reason="a counterexample candidate did not reproduce"
    )


def _anatomy(
    segments: Segments | None, judged: Sequence[_Judged]
) -> tuple[tuple[Anatomy, ...], tuple[LoopSummary, ...]]:
    from verify.annotate.anatomy import annotated

    if segments is None:
        return (), ()
    checks = (decided.check for one in judged for decided in one.decided)
    anatomy, loops = annotated(segments, {check.id: check.verdict for check in checks})
    return (anatomy,), loops


def _stack_writes(segments: Segments | None, options: Options) -> tuple[StackWrite, ...]:
    from verify.properties.stack import table

    return table(segments) if segments is not None and "stack" in options.properties else ()


def _residues(segments: Segments | None, options: Options) -> tuple[Residue, ...]:
    from verify.properties.secrecy import residues

    return residues(segments) if segments is not None and "secrecy" in options.properties else ()


def _findings(
    target: Target, segments: Segments | None, unchecked: tuple[str, ...] | None
) -> tuple[str, ...]:
    from verify.properties.alignment import findings

    patched = (f"may be patched: {target.patching_unknown}",) if target.patching_unknown else ()
    if segments is None:
        return patched
    named = (f"not compared with QEMU: {', '.join(unchecked)}",) if unchecked else ()
    return (*findings(segments), *named, *patched)


def _caveats(target: Target, unchecked: tuple[str, ...] | None) -> tuple[Caveat, ...]:
    lifter = () if unchecked == () else (Caveat.LIFTER_UNCHECKED,)
    patched = (Caveat.CODE_UNPATCHED,) if target.patching_unknown else ()
    return (*lifter, *_CAVEATS, *patched)


def _unchecked(target: Target, segments: Segments | None) -> tuple[str, ...] | None:
    """The instruction forms of the function that were not compared with QEMU; None where it is
    not known which there are."""
    if segments is None:
        return None
    blocks = segments.flow.blocks.values()
    return unchecked_forms(target, sorted({a for block in blocks for a in block.instructions}))


def _discipline(segments: Segments | None, judged: Sequence[_Judged]) -> str:
    from verify.properties.stack import discipline

    proved = any(one.claim.id == "stack" and one.verdict is Verdict.PROVED for one in judged)
    return discipline(segments) if proved and segments is not None else ""
