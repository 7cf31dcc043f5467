"""Find the bytes of a result again, and execute a counterexample on them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verify.batch import targets_in
from verify.callpair import CallPair
from verify.counterexample import Counterexample, Look
from verify.errors import InputError
from verify.evidence.calls import calls_of
from verify.image import read_input
from verify.lift.angr_import import import_angr
from verify.look import look
from verify.resultjson import from_json
from verify.target import Function
from verify.verdict import PropertyResult, Result

if TYPE_CHECKING:
    from verify.callhistory import CallHistory
    from verify.resultjson import Outcome
    from verify.target import Target
    from verify.verdict import Environment, VariantSummary
    from verify.witness import Breach


@dataclass(frozen=True)
class Refuted:
    """A refuted property of a result, with its counterexample."""

    result: Result
    property: PropertyResult
    counterexample: Counterexample


@dataclass(frozen=True)
class RefutedByCalls:
    """A refuted property of a getrandom, with the calls that show it, and what those were executed
    with."""

    result: Result
    property: PropertyResult
    shown: CallHistory | CallPair
    environment: Environment


def read_outcome(file: str) -> Outcome:
    """What `prove --json` wrote to a file; raises InputError for anything else."""
    data = read_input(file).data
    try:
        return from_json(json.loads(data))
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(file, f"not a result of vdso-verify prove --json ({reason})") from None


def refuted_in(outcome: Outcome, file: str, property_id: str | None = None) -> list[Refuted]:
    """The refuted properties of ChaCha20 with counterexamples, or only the one of that name; raises
    InputError where there is none."""
    found = [
        Refuted(result, one, one.counterexample)
        for result in outcome.results
        for one in result.properties
        if one.counterexample is not None and property_id in (None, one.property)
    ]
    if not found:
        of = "" if property_id is None else f" of {property_id}"
        raise InputError(file, f"it has no counterexample{of}")
    return found


def calls_in(outcome: Outcome, property_id: str | None = None) -> list[RefutedByCalls]:
    """The refuted properties of getrandoms with a history or a pair of calls, or only the one of
    that name."""
    return [
        RefutedByCalls(result, one, shown, result.environment)
        for result in outcome.results
        for one in result.properties
        if (shown := one.history or one.pair) is not None
        and result.environment is not None
        and property_id in (None, one.property)
    ]


def target_of(refuted: Refuted | RefutedByCalls, binary: str | None = None) -> Target:
    """The bytes on which a property was refuted: the image in the file that the result names, or
    in `binary`, as the kernel patches it in the variant that is refuted.

    Raises InputError where the file is missing or is another.
    """
    summary = refuted.result.target
    file = binary or summary.source
    where = "name the file with --binary FILE" if binary is None else "give the one that was proved"
    if file == "-":
        raise InputError(file, f"the result is about standard input; {where}")
    first: InputError | None = None
    environment = refuted.result.environment
    chacha20 = summary.function if environment is None else environment.chacha20.function
    if chacha20.startswith("0x"):
        import_angr()  # reads the code to know its size
    for found in targets_in(file, chacha20, refuted.result.contract):
        if isinstance(found, InputError):
            first = first or found
        elif found.image_sha256 == summary.image_sha256:
            function = Function(
                summary.function,
                summary.address,
                summary.size,
                summary.located,
                found.function.toc,
            )
            return _patched(replace(found, function=function), refuted)
        elif first is None:
            first = InputError(file, f"not the file of the result (other SHA-256); {where}")
    raise first or InputError(file, f"has no image with SHA-256 {summary.image_sha256}; {where}")


def _patched(target: Target, refuted: Refuted | RefutedByCalls) -> Target:
    """The target with the patches of the variant in which the property is refuted."""
    variant = _variant(refuted)
    if variant is None:
        return target
    segments = target.segments
    for patch in variant.patches:
        code = bytes.fromhex(patch.code)
        segments = tuple(
            replace(segment, data=segment.data[:at] + code + segment.data[at + len(code) :])
            if 0 <= (at := patch.address - segment.address) <= len(segment.data) - len(code)
            else segment
            for segment in segments
        )
    done = replace(target, segments=segments, alternatives=())
    if done.function_sha256 != variant.function_sha256:
        raise InputError(target.source, "its function is not that of the result (other SHA-256)")
    return done


def _variant(refuted: Refuted | RefutedByCalls) -> VariantSummary | None:
    variants = refuted.result.variants
    if len(variants) == 1:
        return variants[0]
    return next((one for one in variants if one.name == refuted.property.variant), None)


def again(target: Target, counterexample: Counterexample) -> Breach | None:
    """What executing a counterexample shows of its fault; None where it does not show.

    Raises verify.qemu.QemuError when the bytes could not be executed.
    """
    inputs, others = calls_of(counterexample)
    if counterexample.observation.look is Look.DEPENDENCE:
        import_angr()
    seen = look(target, counterexample.observation, inputs, others)
    return next((breach for breach in seen if breach.kind == counterexample.kind), None)


def calls_again(target: Target, refuted: RefutedByCalls) -> str | None:
    """What executing a history or a pair of calls shows, on one line; None where it does not show
    the fault.

    Raises verify.qemu.QemuError when the bytes could not be executed, ValueError for what is no
    such thing.
    """
    import_angr()
    from verify.getrandom.claims import Claim
    from verify.getrandom.execution.interference import again as executed_pair
    from verify.getrandom.execution.program import program_of
    from verify.getrandom.execution.refute import again as executed
    from verify.getrandom.execution.stored import history_of, pair_of, stored
    from verify.getrandom.layout import layout_in

    environment, shown, name = refuted.environment, refuted.shown, refuted.property.property
    program = program_of(target, layout_in(environment))
    if isinstance(shown, CallPair):
        seen = executed_pair(program, Claim(name), pair_of(shown))
        return None if seen is None else seen.text
    found = executed(program, history_of(shown.calls), name)
    return None if found is None else stored(program, found).what
