"""Two proofs of one function, each through a lifter of its own, which have to agree.

The lifters share no code, so that a fault of one is seen as a difference. A property keeps its
verdict where both have the same one, for the function and for each of its variants; else nothing is
known of it, and the harness is at fault.
"""

from __future__ import annotations

from dataclasses import replace

from verify.verdict import Check, PropertyResult, Result, VariantVerdict, Verdict, together

NAMES = {"vex": "VEX", "pcode": "SLEIGH"}
"""What the engines' lifters are called."""


def agreed(first: Result, second: Result) -> Result:
    """The first result, where the second one, of the same target and properties, agrees.

    What is beside the verdicts is the first one's, and so are the caveats: each verdict holds
    without the second one.
    """
    names = [NAMES[lifter] for lifter in (*first.lifters, *second.lifters)]
    others = {one.property: one for one in second.properties}
    pairs = [(one, others[one.property]) for one in first.properties]
    apart = [one.property for one, other in pairs if _views(first, one) != _views(second, other)]
    if apart:
        found = f"fault of the harness: {' and '.join(names)} disagree on {', '.join(apart)}"
    else:
        found = f"{' and '.join(names)} agree on every property"
    return replace(
        first,
        properties=tuple(
            _disputed(one, other, names) if one.property in apart else _both(one, other, second)
            for one, other in pairs
        ),
        findings=(*first.findings, found),
        tools={**first.tools, **second.tools},
        seconds=first.seconds + second.seconds,
        variants=tuple(
            replace(
                variant,
                verdicts=tuple(
                    VariantVerdict(one.property, Verdict.UNKNOWN) if one.property in apart else one
                    for one in variant.verdicts
                ),
            )
            for variant in first.variants
        ),
        lifters=(*first.lifters, *second.lifters),
    )


def _views(result: Result, one: PropertyResult) -> tuple[object, ...]:
    """The verdict of a property, and that in each variant by its name."""
    variants = (
        (variant.name, each.verdict)
        for variant in result.variants
        for each in variant.verdicts
        if each.property == one.property
    )
    return (one.verdict, *variants)


def _other_checks(other: PropertyResult, lifter: str) -> tuple[Check, ...]:
    return tuple(replace(check, id=f"{check.id}@{lifter}") for check in other.checks)


def _both(one: PropertyResult, other: PropertyResult, second: Result) -> PropertyResult:
    """A property on which both agree, with the obligations of both."""
    return replace(
        one,
        seconds=together((one.seconds, other.seconds)),
        checks=(*one.checks, *_other_checks(other, second.lifters[0])),
    )


def _disputed(one: PropertyResult, other: PropertyResult, names: list[str]) -> PropertyResult:
    """A property on which they do not agree."""
    said = (
        f"{name} has {each.verdict.value}" + (f" ({each.reason})" if each.reason else "")
        for name, each in zip(names, (one, other), strict=True)
    )
    return replace(
        one,
        verdict=Verdict.UNKNOWN,
        seconds=together((one.seconds, other.seconds)),
        reason=f"fault of the harness: {', '.join(said)}",
        counterexample=None,
        history=None,
        pair=None,
    )
