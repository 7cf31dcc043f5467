"""Which registers hold a constant that the function itself has put there, block by block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from verify.arch import Architecture
from verify.mutate.effect import INITIAL, Way
from verify.target import Target
from verify.terms import Term, const, substitute, var

Constants = Mapping[Term, Term]
"""Constants by the variables for what registers hold at the beginning of a block."""


def constants(
    target: Target,
    architecture: Architecture,
    ways: Callable[[int], Sequence[Way]],
    successors: Mapping[int, Sequence[int]],
) -> dict[int, Constants]:
    """The constants in whole registers at the beginning of each block, by its address.

    `ways` gives the ways through a block, `successors` the blocks that can follow each. What is
    loaded from the image counts as what it holds, since nothing writes there.
    """
    entry = target.function.address
    found: dict[int, Constants] = {entry: {}}
    pending = [entry]
    while pending:
        address = pending.pop()
        behind = [_behind(target, architecture, way, found[address]) for way in ways(address)]
        for following in successors[address]:
            known = [found[following]] if following in found else []
            joined = _common([*known, *behind])
            if not known or joined != known[0]:
                found[following] = joined
                pending.append(following)
    return found


def _common(states: Sequence[Constants]) -> Constants:
    first, *others = states
    return {
        variable: value
        for variable, value in first.items()
        if all(other.get(variable) is value for other in others)
    }


def _behind(
    target: Target, architecture: Architecture, way: Way, before: Constants
) -> dict[Term, Term]:
    mapping = dict(before)
    for touch in way.touches:
        if not touch.write:
            (address,) = substitute([touch.address], mapping)
            data = None if address.value is None else target.code(address.value, touch.size)
            if data is not None:
                number = int.from_bytes(data, architecture.byte_order)
                mapping[touch.value] = const(number, 8 * touch.size)
    values = dict(zip(way.registers, substitute(way.registers.values(), mapping), strict=True))
    return {
        var(f"{INITIAL}{register.storage}", values[register.name].width): values[register.name]
        for register in architecture.registers
        if register.bits is None and values[register.name].value is not None
    }
