"""The one place that walks a target through the house."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verify.errors import InputError
from verify.lift.angr_import import import_angr
from verify.options import Options
from verify.progress import Progress, Report
from verify.target import Target
from verify.verdict import Contract, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.chacha20 import Certify
    from verify.target import Alternative

    type Prover = Callable[[Target, tuple[Alternative, ...], Options, Report, Certify], Result]
    """Proves one variant; the alternatives are those of the image that are in no variant."""


def prove(
    target: Target,
    options: Options,
    progress: Report = lambda _: None,
    certify: Certify = lambda *_: None,
) -> Result:
    """Prove or refute every property asked for; never raises for what a binary contains.

    Every variant of the function that the kernel may make is proved. The properties' results are in
    the order of `verify.options.PROPERTIES_OF`. Raises InputError where both lifters are wanted and
    the architecture has one.
    """
    if not options.both_lifters:
        return _prove(target, options, progress, certify)
    other = target.architecture.read_by_other()
    if other is None:
        raise InputError(
            target.source,
            f"there is only one lifter for {target.architecture.title}; leave out --both-lifters",
        )
    from verify.agreement import agreed

    first = _prove(target, options, progress)
    return agreed(first, _prove(replace(target, architecture=other), options, progress))


def _prove(
    target: Target, options: Options, progress: Report, certify: Certify = lambda *_: None
) -> Result:
    """Prove by the lifter of the target's architecture."""
    progress(Progress("load", target.function.name, 0, 0))
    import_angr()
    from verify.combine import over_variants
    from verify.lift.machine import Unsupported
    from verify.variants import variants_of

    prove_variant, nothing_said = _provers(options.contract)
    if target.unusable:
        return nothing_said(target, options, target.unusable)
    try:
        variants = variants_of(target)
    except Unsupported as error:
        return nothing_said(target, options, str(error))
    return over_variants(
        target,
        variants,
        lambda variant, left: prove_variant(variant, left, options, progress, certify),
    )


def _provers(contract: Contract) -> tuple[Prover, Callable[[Target, Options, str], Result]]:
    """What proves one variant of a function with that contract, and what says for a reason that
    nothing is known of any."""
    if contract is Contract.GETRANDOM:
        from verify.getrandom import result

        return (lambda *given: result.prove_variant(*given[:4])), result.nothing_said
    from verify import chacha20

    return chacha20.prove_variant, chacha20.nothing_said
