"""From what was proved of a getrandom, and what was seen when it was executed, to verdicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verify.callpair import CallPair
from verify.getrandom.claims import Claim
from verify.getrandom.execution.interference import interferences
from verify.getrandom.execution.nearest import nearest
from verify.getrandom.execution.program import program_of
from verify.getrandom.execution.refute import endless, refutations
from verify.getrandom.execution.stored import stored, stored_pair
from verify.lift.machine import Unsupported
from verify.qemu import QemuError
from verify.verdict import PropertyResult, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verify.arch.kerneldata import Layout
    from verify.callhistory import CallHistory
    from verify.target import Target

HARNESS = "fault of the harness: it was proved, but "


@dataclass(frozen=True)
class Executed:
    """The verdicts, and whether histories were executed."""

    properties: tuple[PropertyResult, ...]
    executed: bool = False


def executed(target: Target, layout: Layout, proved: Sequence[PropertyResult]) -> Executed:
    """Execute histories on a target, whose function is a getrandom, and pairs of calls that differ
    in secrets; what they break is REFUTED.

    A property that is PROVED cannot be broken: if it is seen to be, the harness is at fault, and it
    is UNKNOWN. Without QEMU nothing is REFUTED, and what is UNKNOWN says so.
    """
    waiting = {one.property for one in proved if one.verdict is not Verdict.PROVED}
    interrupt = not waiting.isdisjoint({Claim.FORK.value, Claim.REENTRY.value})
    try:
        program = program_of(target, layout)
        found = refutations(program, program.instructions if interrupt else ())
    except (Unsupported, QemuError) as error:
        return Executed(_noted(proved, f"no history was executed: {error}"))
    kept: dict[str, CallHistory | CallPair] = {
        name: stored(program, one) for name, one in found.items()
    }
    reason = ""
    try:
        shown = {} if endless(found) else interferences(program, accesses=Claim.TIMING in waiting)
        for claim, one in shown.items():
            kept.setdefault(claim.value, stored_pair(program, nearest(program, one)))
    except QemuError as error:
        reason = f"no pair of calls was executed: {error}"
    judged = tuple(
        _refuted(one, kept[one.property]) if one.property in kept else one for one in proved
    )
    return Executed(_noted(judged, reason) if reason else judged, executed=True)


def _noted(results: Iterable[PropertyResult], reason: str) -> tuple[PropertyResult, ...]:
    """The results, with why nothing more was executed where one is UNKNOWN."""
    return tuple(
        replace(one, findings=(*one.findings, reason)) if one.verdict is Verdict.UNKNOWN else one
        for one in results
    )


def _refuted(one: PropertyResult, shown: CallHistory | CallPair) -> PropertyResult:
    if one.verdict is Verdict.PROVED:
        reason = f"{HARNESS}{shown.what}"
        return replace(one, verdict=Verdict.UNKNOWN, reason=reason, findings=shown.account)
    found = replace(one, verdict=Verdict.REFUTED, reason=shown.what, checks=())
    if isinstance(shown, CallPair):
        return replace(found, pair=shown)
    return replace(found, history=shown)
