"""From failed obligations to refutations: a candidate counts once the real bytes show it.

Inputs come from a pool of corner cases and from the solver's models. What the final state does not
show (a value that lay on the stack for a moment, a read past a region) is looked at where the
obligation says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from verify.decide import Answer, check
from verify.observe import confirm_key_dependence
from verify.prove.obligation import (
    AccessProbe,
    KeyProbe,
    Probe,
    RegisterProbe,
    RegisterWriteProbe,
    StackWriteProbe,
)
from verify.prove.segments import Segments
from verify.solve import Decided
from verify.target import Target
from verify.terms import Term
from verify.witness import (
    Breach,
    Inputs,
    candidates,
    confirm_access,
    confirm_register_write,
    confirm_residue,
    confirm_stack_write,
    other_key,
    search,
)

_MAX_PROBES = 48
_OTHER_KEYS = 6
_SHOWN_COUNTS = (1, 2, 3)


def inputs_of(segments: Segments, model: Mapping[Term, int]) -> Iterator[Inputs]:
    """Calls that take the function to what a model describes: the block that it is about as the
    last one of one, two and three blocks, with the model's key and registers."""
    names = segments.names
    key = tuple(model.get(word, 0) for word in names.key)
    count = model.get(names.count, 0)
    at_hand = model.get(names.block_count, count)
    registers = _registers(segments, model)
    for nblocks in _SHOWN_COUNTS:
        counter = (at_hand - nblocks + 1) % (1 << 64)
        yield Inputs(key, counter, nblocks, registers=registers)
    if 0 < (nblocks := model.get(names.nblocks, 0)) <= 16:
        yield Inputs(key, count, nblocks, registers=registers)


def _registers(segments: Segments, model: Mapping[Term, int]) -> dict[str, int]:
    """The entry values of whole registers that a model fixes."""
    values = {term.name: value for term, value in model.items()}
    architecture = segments.target.architecture
    fixed = {architecture.stack_pointer, architecture.return_address, *architecture.arguments[:4]}
    return {
        register.name: values[f"init_{register.storage}"]
        for register in architecture.registers
        if register.bits is None
        and register.name not in fixed
        and f"init_{register.storage}" in values
        and register.name not in ("vscr", "vrsave")
    }


def _models(segments: Segments | None, failed: Iterable[Decided]) -> Iterator[Mapping[Term, int]]:
    """Models of failed obligations, and one of each path that the function can take."""
    for decided in failed:
        if decided.candidate:
            yield decided.model
    for segment in segments or ():
        decision = check(segment.assumptions)
        if decision.answer is Answer.SAT:
            yield decision.model


def _look(
    target: Target, segments: Segments, calls: Sequence[Inputs], probe: Probe
) -> Breach | None:
    """What the real bytes show of a probe; `calls` differ in the key only."""
    inputs, *others = calls
    match probe:
        case StackWriteProbe():
            return confirm_stack_write(target, inputs, probe.instruction, probe.offset, probe.size)
        case RegisterWriteProbe():
            seen = (
                confirm_register_write(target, inputs, address, probe.register)
                for address in probe.instructions
            )
            return next((breach for breach in seen if breach is not None), None)
        case AccessProbe():
            return confirm_access(target, inputs, probe.region, probe.offset)
        case RegisterProbe():
            return confirm_residue(target, inputs, others, probe.register)
        case KeyProbe():
            return confirm_key_dependence(segments, calls, probe.instruction)


def _calls(segments: Segments, model: Mapping[Term, int]) -> list[Inputs]:
    """The same call with several keys: the two of the model of a two-run query, and others."""
    first = next(inputs_of(segments, model))
    names = segments.names
    primed = {term.name: value for term, value in model.items()}
    twin = tuple(
        primed.get(f"{word.name}'", value) for word, value in zip(names.key, first.key, strict=True)
    )
    return [first, replace(first, key=twin), *(other_key(first, n) for n in range(_OTHER_KEYS))]


def _probe_all(target: Target, segments: Segments, group: Sequence[Decided]) -> Breach | None:
    """The first probe of the failed obligations that shows something."""
    tried: set[Probe] = set()
    for decided in group:
        if decided.proved:
            continue
        calls = _calls(segments, decided.model)
        for probe in decided.obligation.probes:
            if probe in tried or len(tried) >= _MAX_PROBES:
                continue
            tried.add(probe)
            breach = _look(target, segments, calls, probe)
            if breach is not None:
                return breach
    return None


def refutations(
    target: Target,
    segments: Segments | None,
    failed: Mapping[str, Sequence[Decided]],
) -> dict[str, Breach]:
    """For each property that failed (by id, with its obligations), what the real bytes do that
    breaks it; a property for which nothing was seen is missing.

    Raises verify.qemu.QemuError when the bytes could not be executed.
    """
    every = [decided for group in failed.values() for decided in group]
    pool = list(candidates(target))
    if segments is not None:
        for model in _models(segments, every):
            pool += inputs_of(segments, model)
    found = {breach.property: breach for breach in search(target, pool)}
    for property_id, group in failed.items():
        if property_id not in found and segments is not None:
            breach = _probe_all(target, segments, group)
            if breach is not None:
                found[property_id] = replace(breach, property=property_id)
    return found
