"""From the results of a function's variants to that of the function.

A property is PROVED when it is in every variant; else it has the verdict, the reason and the
counterexample of the first of the worst variants. What is listed beside the verdicts is what occurs
in any variant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from verify.verdict import (
    AS_RUNNING,
    PatchSummary,
    PropertyResult,
    Residue,
    Result,
    VariantSummary,
    VariantVerdict,
    Verdict,
    together,
    worst,
)

if TYPE_CHECKING:
    from verify.target import Alternative, Target, Variant


def over_variants(
    target: Target,
    variants: Sequence[Variant],
    prove: Callable[[Target, tuple[Alternative, ...]], Result],
) -> Result:
    """The result of the function from what `prove` says of each variant. It is given the variant
    and the alternatives that are in none, because no instruction that they change is reached."""
    made = {one for variant in variants for one in variant.applied}
    left = tuple(one for one in target.alternatives if one not in made)
    return combined(
        target, variants, [prove(target.patched(variant), left) for variant in variants]
    )


def combined(target: Target, variants: Sequence[Variant], results: Sequence[Result]) -> Result:
    """The result of the function from those of its variants, which are one or more."""
    first = results[0]
    summaries = tuple(
        variant_summary(target, variant, result.target.size, result)
        for variant, result in zip(variants, results, strict=True)
    )
    function = replace(target.function, size=first.target.size)
    built = replace(
        first.target, function_sha256=replace(target, function=function).function_sha256
    )
    names = [summary.name for summary in summaries]
    properties = tuple(
        _property(names, parts)
        for parts in zip(*(result.properties for result in results), strict=True)
    )
    anatomies = tuple(
        replace(anatomy, variant=name)
        for name, result in zip(names, results, strict=True)
        for anatomy in result.anatomies
    )
    if len(results) == 1:
        return replace(
            first, target=built, properties=properties, variants=summaries, anatomies=anatomies
        )
    return Result(
        built,
        properties,
        _every(result.stack_writes for result in results),
        _discipline([result.discipline for result in results]),
        _by_register(_every(result.residues for result in results)),
        _findings(names, [result.findings for result in results]),
        _every(result.loops for result in results),
        _every(result.caveats for result in results),
        {name: version for result in results for name, version in result.tools.items()},
        sum(result.seconds for result in results),
        summaries,
        first.lifters,
        anatomies,
        first.contract,
        first.environment,
    )


def variant_summary(
    target: Target, variant: Variant, size: int, result: Result | None = None
) -> VariantSummary:
    """What is said of one variant of a function of `size` bytes; without a result no verdicts."""
    patched = target.patched(variant)
    function = replace(patched.function, size=size)
    return VariantSummary(
        AS_RUNNING if target.running else variant.name,
        replace(patched, function=function).function_sha256,
        tuple(
            PatchSummary(one.address, one.code.hex(), str(one.condition)) for one in variant.applied
        ),
        tuple(VariantVerdict(one.property, one.verdict) for one in result.properties)
        if result
        else (),
    )


def _property(names: Sequence[str], parts: Sequence[PropertyResult]) -> PropertyResult:
    """One property from what it is in each variant."""
    verdict = worst(part.verdict for part in parts)
    number = next(n for n, part in enumerate(parts) if part.verdict is verdict)
    decisive = parts[number]
    checks = tuple(
        replace(check, id=f"{check.id}@variant{n}" if n else check.id)
        for n, part in enumerate(parts)
        for check in part.checks
    )
    return replace(
        decisive,
        seconds=together(part.seconds for part in parts),
        checks=checks,
        findings=_findings(names, [part.findings for part in parts]),
        variant="" if verdict is Verdict.PROVED else names[number],
    )


def _every[T](parts: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    """What occurs in any of the tuples, each once, in order."""
    return tuple(dict.fromkeys(one for part in parts for one in part))


def _findings(names: Sequence[str], parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Each finding once; one that is not of all variants says of which it is."""
    found = []
    for finding in _every(parts):
        having = [name for name, part in zip(names, parts, strict=True) if finding in part]
        found.append(finding if len(having) == len(names) else f"{finding} ({'; '.join(having)})")
    return tuple(found)


def _by_register(residues: Sequence[Residue]) -> tuple[Residue, ...]:
    """Those of one register one after the other, the registers in the order that they have."""
    order = list(dict.fromkeys(one.register for one in residues))
    return tuple(sorted(residues, key=lambda one: order.index(one.register)))


def _discipline(each: Sequence[str]) -> str:
    """The stronger discipline if all variants meet it, else the weaker; none if one meets none."""
    from verify.properties.stack import PUBLIC_ONLY

    if not all(each):
        return ""
    return PUBLIC_ONLY if PUBLIC_ONLY in each else each[0]
