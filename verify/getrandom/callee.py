"""The ChaCha20 that a getrandom calls: what has to be proved of it for what is proved of the rest.

A getrandom is proved with ChaCha20 replaced by its contract. So a property of it stands only if
those of ChaCha20 do on which it rests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from verify.chacha20 import nothing_said, prove_variant
from verify.combine import over_variants
from verify.getrandom.claims import Claim
from verify.lift.machine import Unsupported
from verify.options import PROPERTIES, Options
from verify.progress import Report
from verify.target import Target
from verify.variants import variants_of
from verify.verdict import AS_BUILT, Contract, PropertyResult, Result, Verdict

_RETURNS = ("counter", "footprint", "abi", "termination")
"""It returns, and has changed nothing but blocks and counter and what a called function may."""

NEEDS: Mapping[Claim, tuple[str, ...]] = {
    **dict.fromkeys(Claim, _RETURNS),
    Claim.PARAMS: (),
    Claim.STREAM: (*_RETURNS, "output"),
    Claim.ERASURE: (*_RETURNS, "output"),
    Claim.FORK: (*_RETURNS, "output", "timing"),
    Claim.TIMING: (*_RETURNS, "timing"),
    Claim.STACK: (*_RETURNS, "stack", "secrecy"),
    Claim.SECRECY: (*_RETURNS, "secrecy"),
}
"""The properties of ChaCha20 on which each of a getrandom rests. The query does not call it."""


def proved_callee(chacha20: Target, options: Options, progress: Report) -> Result | None:
    """What is proved of the ChaCha20 that a getrandom calls, in each of its variants, as far as the
    properties asked for rest on it; None if none does."""
    needed = {name for claim in options.properties for name in NEEDS[Claim(claim)]}
    if not needed:
        return None
    asked = replace(
        options,
        contract=Contract.CHACHA20,
        properties=tuple(name for name in PROPERTIES if name in needed),
    )
    try:
        variants = variants_of(chacha20)
    except Unsupported as error:
        return nothing_said(chacha20, asked, str(error))
    return over_variants(
        chacha20,
        variants,
        lambda variant, left: prove_variant(variant, left, asked, progress, lambda *_: None),
    )


def resting_on(
    properties: Sequence[PropertyResult], callee: Result | None
) -> tuple[PropertyResult, ...]:
    """The verdicts on a getrandom; one that rests on what is not PROVED of ChaCha20 is UNKNOWN."""
    known = {} if callee is None else {one.property: one for one in callee.properties}
    return tuple(
        _resting(one, [known[name] for name in NEEDS[Claim(one.property)]]) for one in properties
    )


def _resting(one: PropertyResult, needed: Sequence[PropertyResult]) -> PropertyResult:
    missing = next((other for other in needed if other.verdict is not Verdict.PROVED), None)
    if one.verdict is not Verdict.PROVED or missing is None:
        return one
    why = missing.counterexample.what if missing.counterexample else missing.reason
    where = "" if missing.variant in ("", AS_BUILT) else f" ({missing.variant})"
    reason = (
        f"ChaCha20, which it calls, is {missing.verdict.value} in {missing.property}{where}: {why}"
    )
    return replace(one, verdict=Verdict.UNKNOWN, reason=reason)
