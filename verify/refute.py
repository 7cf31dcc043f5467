"""From failed obligations to refutations: a candidate counts once the real bytes show it.

Inputs come from a pool of corner cases and from the solver's models. What the final state does not
show (a value that lay on the stack for a moment, a read past a region) is looked at where the
obligation says. What was seen is then shown on the simplest inputs that can be found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from verify.counterexample import Look, Observation
from verify.decide import Answer, check
from verify.look import look, returns
from verify.prove.obligation import (
    AccessProbe,
    KeyProbe,
    Probe,
    RegisterProbe,
    RegisterWriteProbe,
    StackWriteProbe,
)
from verify.prove.segments import Segments
from verify.prove.setting import high_word, low_word
from verify.qemu import QemuError
from verify.solve import Decided
from verify.target import Target
from verify.terms import Term, const, equal, negate
from verify.witness import (
    Breach,
    Budget,
    Inputs,
    Shrunk,
    candidates,
    cleared,
    key_neighbours,
    other_key,
    plural,
    search,
    shrink,
)

_MAX_PROBES = 48
_OTHER_KEYS = 6
_SHOWN_COUNTS = (1, 2, 3)
_AT_RETURN = Budget(calls=1000, batch=400, sightings=1000)
"""What may be executed to find simpler inputs: calls that run to their end, many at once, ..."""
_ENDLESS = Budget(calls=400, batch=1, sightings=3)
"""... calls that do not end, ..."""
_AT_A_PLACE = Budget(calls=24, batch=1, sightings=24)
"""... and calls that take some executions each, one after the other."""
_SECOND_KEY = Budget(calls=100, batch=1, sightings=100)
"""What may be executed to find a second key with few bits set."""
_FORCED_BUDGET = 200_000


@dataclass(frozen=True)
class Refutation:
    """What the real bytes do that breaks a property, on the simplest inputs found; what to look at
    to see it, and what is known of how far the inputs are forced, in words."""

    breach: Breach
    observation: Observation
    notes: tuple[str, ...]


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


def _observations(probe: Probe) -> list[Observation]:
    """What to look at for a probe; one after the other until something shows."""
    match probe:
        case StackWriteProbe():
            at, offset, size = probe.instruction, probe.offset, probe.size
            return [Observation(Look.STACK_WRITE, at, offset=offset, size=size)]
        case RegisterWriteProbe():
            return [
                Observation(Look.REGISTER_WRITE, address, probe.register)
                for address in probe.instructions
            ]
        case AccessProbe():
            return [Observation(Look.ACCESS, region=probe.region, offset=probe.offset)]
        case RegisterProbe():
            return [Observation(Look.REGISTER, register=probe.register)]
        case KeyProbe():
            return [Observation(Look.DEPENDENCE, probe.instruction)]


def _calls(segments: Segments, model: Mapping[Term, int]) -> list[Inputs]:
    """The same call with several keys: the two of the model of a two-run query, and others."""
    first = next(inputs_of(segments, model))
    names = segments.names
    primed = {term.name: value for term, value in model.items()}
    twin = tuple(
        primed.get(f"{word.name}'", value) for word, value in zip(names.key, first.key, strict=True)
    )
    return [first, replace(first, key=twin), *(other_key(first, n) for n in range(_OTHER_KEYS))]


def _probe_all(
    target: Target, segments: Segments, group: Sequence[Decided]
) -> tuple[Breach, Observation] | None:
    """The first probe of the failed obligations that shows something."""
    tried: set[Probe] = set()
    for decided in group:
        if decided.proved:
            continue
        inputs, *others = _calls(segments, decided.model)
        for probe in decided.obligation.probes:
            if probe in tried or len(tried) >= _MAX_PROBES:
                continue
            tried.add(probe)
            for observation in _observations(probe):
                with_others = others if observation.look in _COMPARED else ()
                for breach in look(target, observation, inputs, with_others):
                    return breach, observation
    return None


_COMPARED = (Look.REGISTER, Look.DEPENDENCE)
"""What shows only by comparison with calls of another key."""


def _again(
    target: Target, breach: Breach, observation: Observation, calls: Sequence[Inputs]
) -> list[Breach | None]:
    """What each call shows of the same fault."""
    if observation.look is Look.RETURN:
        seen = returns(target, calls)
    else:
        seen = []
        for one in calls:
            keys = [other_key(one, n) for n in range(_OTHER_KEYS)]
            others = keys if observation.look in _COMPARED else ()
            seen.append(look(target, observation, one, others))
    return [_same(found, breach) for found in seen]


def _same(found: Iterable[Breach], breach: Breach) -> Breach | None:
    return next((one for one in found if one.kind == breach.kind), None)


def _nearest(target: Target, breach: Breach, observation: Observation) -> Breach:
    """Where the breach is a difference between two keys: the same with the first key that differs
    in one bit and shows it, or else with one that has few bits set."""
    inputs, other = breach.inputs, breach.other
    if other is None or other.key == inputs.key:
        return breach
    near = key_neighbours(inputs)
    if observation.look is Look.RETURN:
        seen = returns(target, [inputs] * len(near), near)
    else:
        seen = [look(target, observation, inputs, near)]
    found = (_same(one, breach) for one in seen)
    first = next((one for one in found if one is not None), None)
    if first is not None:
        return first

    def again(calls: Sequence[Inputs]) -> list[Breach | None]:
        """What the first call shows when it is compared with each of these, as a breach of them."""
        shown = []
        for one in calls:
            same = one.counter == inputs.counter
            pair = _same(look(target, observation, inputs, [one]), breach) if same else None
            shown.append(None if pair is None else replace(pair, inputs=one))
        return shown

    few = cleared(replace(breach, inputs=other), again, _SECOND_KEY).inputs
    return _same(look(target, observation, inputs, [few]), breach) or breach


def _simplest(target: Target, breach: Breach, observation: Observation) -> Shrunk:
    """The breach on simpler inputs; as it was where they cannot be executed."""

    def again(calls: Sequence[Inputs]) -> list[Breach | None]:
        return _again(target, breach, observation, calls)

    budget = _AT_RETURN if observation.look is Look.RETURN else _AT_A_PLACE
    if breach.property == "termination":
        budget = _ENDLESS
    try:
        found = shrink(breach, again, budget)
        return replace(found, breach=_nearest(target, found.breach, observation))
    except (QemuError, LookupError, ValueError):
        return Shrunk(breach, ())


def _forced(segments: Segments | None, group: Iterable[Decided], inputs: Inputs) -> Iterator[str]:
    """The words of the counter that are the only ones with which an obligation can fail, for as
    many blocks, as far as the solver shows it."""
    failing = [decided for decided in group if not decided.proved]
    if segments is None or not failing or len(failing) > _MAX_PROBES:
        return
    names = segments.names
    blocks = equal(names.nblocks, const(inputs.nblocks, names.pointer_bits))
    for title, part, low in (("low", low_word, 0), ("high", high_word, 32)):
        value = inputs.counter >> low & 0xFFFF_FFFF
        other = negate(equal(part(names.count), const(value, 32)))
        if all(_impossible(decided, (blocks, other)) for decided in failing):
            yield (
                f"forced: with {plural(inputs.nblocks, 'block')}, only {value:#010x} in the {title}"
                " word of the counter shows it"
            )


def _impossible(decided: Decided, facts: Iterable[Term]) -> bool:
    """Whether the obligation holds wherever the facts do."""
    obligation = decided.obligation
    failing = (*obligation.assumptions, negate(obligation.formula), *facts)
    return check(failing, _FORCED_BUDGET).answer is Answer.UNSAT


def seen_broken(
    target: Target,
    segments: Segments | None,
    failed: Mapping[str, Sequence[Decided]],
) -> dict[str, tuple[Breach, Observation]]:
    """What executions of the real bytes show to be broken, by property: of those that failed (by
    id, with their obligations) and of any other that shows at the return.

    Raises verify.qemu.QemuError when the bytes could not be executed.
    """
    every = [decided for group in failed.values() for decided in group]
    pool = list(candidates(target))
    if segments is not None:
        for model in _models(segments, every):
            pool += inputs_of(segments, model)
    at_return = Observation(Look.RETURN)
    seen = {breach.property: (breach, at_return) for breach in search(target, pool)}
    for property_id, group in failed.items():
        if property_id not in seen and segments is not None:
            probed = _probe_all(target, segments, group)
            if probed is not None:
                breach, observation = probed
                seen[property_id] = replace(breach, property=property_id), observation
    return seen


def refutations(
    target: Target,
    segments: Segments | None,
    failed: Mapping[str, Sequence[Decided]],
) -> dict[str, Refutation]:
    """For each property that failed, what the real bytes do that breaks it, on the simplest inputs
    found; a property for which nothing was seen is missing. As `seen_broken`."""
    found = {}
    for property_id, (breach, observation) in seen_broken(target, segments, failed).items():
        if property_id in failed:
            shrunk = _simplest(target, breach, observation)
            forced = _forced(segments, failed[property_id], shrunk.breach.inputs)
            notes = (*shrunk.notes, *forced)
            found[property_id] = Refutation(shrunk.breach, observation, notes)
    return found
