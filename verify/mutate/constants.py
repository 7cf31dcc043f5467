"""Which registers hold one of a few values that the function has put there, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from verify.arch import Architecture
from verify.mutate.effect import INITIAL, Way
from verify.target import Target
from verify.terms import Term, const, disjunction, equal, substitute, var, variables

Constants = Mapping[Term, frozenset[int]]
"""The values, by the variables for what registers hold at the beginning of a block; a register that
is not there may hold any."""

_MOST = 64
"""So many values of one register are told apart."""


def constants(
    target: Target,
    architecture: Architecture,
    ways: Callable[[int], Sequence[Way]],
    successors: Mapping[int, Sequence[int]],
) -> dict[int, Constants]:
    """The values in whole registers at the beginning of each block, by its address.

    `ways` gives the ways through a block, `successors` the blocks that can follow each. What is
    loaded from the image counts as what it holds, since nothing writes there.
    """
    entry = target.function.address
    found: dict[int, Constants] = {entry: {}}
    pending = [entry]
    while pending:
        address = pending.pop()
        behind = [
            (way.target.value, state)
            for way in ways(address)
            if (state := _behind(target, architecture, way, found[address])) is not None
        ]
        for following in successors[address]:
            known = [found[following]] if following in found else []
            reached = [state for to, state in behind if to in (None, following)]
            if not reached:
                continue
            joined = _either([*known, *reached])
            if not known or joined != known[0]:
                found[following] = joined
                pending.append(following)
    return found


def single(known: Constants) -> dict[Term, Term]:
    """The registers with one value, as the constants that they are."""
    return {
        register: const(next(iter(values)), register.width)
        for register, values in known.items()
        if len(values) == 1
    }


def several(known: Constants) -> list[Term]:
    """What is known of the registers with more values than one."""
    return [
        disjunction(equal(register, const(value, register.width)) for value in sorted(values))
        for register, values in known.items()
        if len(values) > 1
    ]


def _either(states: Sequence[Constants]) -> Constants:
    first, *others = states
    joined = {
        register: values.union(*(other[register] for other in others))
        for register, values in first.items()
        if all(register in other for other in others)
    }
    return {register: values for register, values in joined.items() if len(values) <= _MOST}


def _behind(
    target: Target, architecture: Architecture, way: Way, before: Constants
) -> Constants | None:
    """The values behind one way through a block, None where none of those before lead that way."""
    mapping = single(before)
    for touch in way.touches:
        if not touch.write:
            (address,) = substitute([touch.address], mapping)
            data = None if address.value is None else target.code(address.value, touch.size)
            if data is not None:
                number = int.from_bytes(data, architecture.byte_order)
                mapping[touch.value] = const(number, 8 * touch.size)
    guard, *terms = substitute([way.guard, *way.registers.values()], mapping)
    possible = dict(_possible(guard, before))
    if guard.value == 0 or not all(possible.values()):
        return None
    held = dict(zip(way.registers, terms, strict=True))
    found = {}
    for register in architecture.registers:
        values = _values(held[register.name], possible)
        if register.bits is None and values is not None:
            width = held[register.name].width
            found[var(f"{INITIAL}{register.storage}", width)] = values
    return found


def _possible(guard: Term, before: Constants) -> Iterator[tuple[Term, frozenset[int]]]:
    """Each register's values without those for which the guard is certainly false."""
    read = variables([guard])
    for register, values in before.items():
        held = {value: {register: const(value, register.width)} for value in values}
        yield (
            register,
            frozenset(
                value
                for value, mapping in held.items()
                if register not in read or substitute([guard], mapping)[0].value != 0
            ),
        )


def _values(term: Term, possible: Constants) -> frozenset[int] | None:
    """The values of a term that depends on one of the registers, or on none."""
    if term.value is not None:
        return frozenset((term.value,))
    read = variables([term])
    if len(read) != 1 or not read <= possible.keys():
        return None
    (register,) = read
    results = [
        substitute([term], {register: const(value, register.width)})[0].value
        for value in possible[register]
    ]
    found = frozenset(value for value in results if value is not None)
    return None if None in results else found
