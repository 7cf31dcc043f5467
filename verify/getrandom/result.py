"""The result of one variant of a getrandom."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace

from verify.arch.kerneldata import Layout
from verify.decide import start_afresh
from verify.getrandom.callee import proved_callee, resting_on
from verify.getrandom.claims import TITLES, Claim
from verify.getrandom.execution.refuted import Executed, executed
from verify.getrandom.layout import layout_of, release_of
from verify.getrandom.lifted import lifted
from verify.getrandom.prove import CAVEATS, CAVEATS_OF_32_BITS, prove_getrandom
from verify.lift.machine import Unsupported
from verify.options import Options
from verify.progress import Progress, Report
from verify.summary import target_summary, tool_versions
from verify.target import Alternative, Target
from verify.validate import unchecked_forms
from verify.verdict import (
    CalledFunction,
    Caveat,
    Contract,
    Environment,
    PropertyResult,
    Result,
    Verdict,
)


def prove_variant(
    target: Target, left: tuple[Alternative, ...], options: Options, progress: Report
) -> Result:
    """Prove one variant, which the target's bytes are. `left` are the image's alternatives that
    are in no variant, because no instruction that they change is reached."""
    start = time.perf_counter()
    start_afresh()
    chacha20 = replace(target.called, alternatives=left)
    try:
        layout = layout_of(target, options)
    except Unsupported as error:
        return nothing_said(target, options, error.reason)
    entry = target.function.address
    callee = proved_callee(chacha20, options, progress)
    properties = resting_on(prove_getrandom(chacha20, entry, layout, (), options, progress), callee)
    found = Executed(properties)
    if options.replay:
        progress(Progress("execute", target.function.name, 0, 0))
        found = executed(target, layout, properties)
    seconds = time.perf_counter() - start
    environment = _environment(target, layout, options)
    result = _result(target, environment, found, seconds, unchecked(target))
    return result if callee is None else _with_callee(result, callee)


def _with_callee(result: Result, callee: Result) -> Result:
    """The result with what the verdicts on ChaCha20 rest on, too, and what was found of it."""
    return replace(
        result,
        caveats=tuple(dict.fromkeys((*result.caveats, *callee.caveats))),
        findings=(*result.findings, *(f"of ChaCha20: {line}" for line in callee.findings)),
    )


def nothing_said(target: Target, options: Options, reason: str) -> Result:
    """The result where the bytes that run are not known: nothing is proved or executed."""
    properties = (
        PropertyResult(claim.value, TITLES[claim], Verdict.UNKNOWN, None, reason=reason)
        for claim in Claim
        if claim in options.properties
    )
    return _result(target, None, Executed(tuple(properties)), 0.0, None)


def unchecked(target: Target) -> tuple[str, ...] | None:
    """The instruction forms of the getrandom that were not compared with QEMU; None where it is not
    known which there are."""
    try:
        return unchecked_forms(target, lifted(target))
    except Unsupported:
        return None


def _result(
    target: Target,
    environment: Environment | None,
    found: Executed,
    seconds: float,
    forms: tuple[str, ...] | None,
) -> Result:
    """The result; `forms` are those that were not compared with QEMU, None where it is not known
    which there are."""
    named = (f"not compared with QEMU: {', '.join(forms)}",) if forms else ()
    assumed = CAVEATS + (CAVEATS_OF_32_BITS if target.architecture.bits == 32 else ())
    checked = {Caveat.LIFTER_UNCHECKED} if forms == () else set()
    return Result(
        target_summary(target, None),
        found.properties,
        findings=named,
        caveats=tuple(one for one in assumed if one not in checked),
        tools=tool_versions(target, executed=found.executed),
        seconds=seconds,
        lifters=(target.architecture.lifter.engine,),
        contract=Contract.GETRANDOM,
        environment=environment,
    )


def _environment(target: Target, layout: Layout, options: Options) -> Environment | None:
    callee = target.callee
    if callee is None:
        return None
    code = target.code(callee.address, callee.size) or b""
    digest = hashlib.sha256(code).hexdigest()
    called = CalledFunction(callee.name, callee.address, callee.size, digest, callee.located)
    namespace = layout.namespace
    environment = Environment(
        layout.page_bytes,
        layout.data_page,
        called,
        None if namespace is None else namespace.clock_mode,
        None if namespace is None else namespace.data_page,
    )
    if options.data_page is not None:
        return environment
    (major, minor), named_by = release_of(target, options)
    return replace(environment, linux=f"{major}.{minor}", linux_by=named_by)
