"""The memory of two traces of accesses, told apart only where they may differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from verify.lift.generic import Touch
from verify.terms import Term, linear, substitute, var, variables

Base = frozenset[tuple[Term, int]]
"""What an address is relative to: the terms that it is a sum of, with their factors."""


def place(touch: Touch) -> tuple[Base, int]:
    """What an address is relative to, and the offset in bytes."""
    form = linear(touch.address)
    return frozenset(form.coefficients.items()), form.constant


_NEAR = 1 << 12
"""How far from a pointer of the contract an access belongs to what it points to, in bytes."""


def _disjoint(one: Touch, two: Touch, apart: frozenset[Term]) -> bool:
    """Whether two accesses certainly touch different bytes: relative to the same, or near pointers
    to regions that do not overlap."""
    (base, first), (other, second) = place(one), place(two)
    whole = 1 << one.address.width
    if base != other:
        near = all(min(offset, whole - offset) < _NEAR for offset in (first, second))
        return near and all(_is_one_of(apart, where) for where in (base, other))
    forward = (second - first) % whole
    return one.size <= forward <= whole - two.size


def _is_one_of(pointers: frozenset[Term], base: Base) -> bool:
    return len(base) == 1 and all(term in pointers and times == 1 for term, times in base)


def _independent(one: Touch, two: Touch, apart: frozenset[Term]) -> bool:
    """Whether two accesses, one behind the other, may change places."""
    if not one.write:
        if not two.write:
            return one.value not in variables([two.address])
        if one.value in variables([two.address, two.value]):
            return False
    return _disjoint(one, two, apart)


def in_normal_order(touches: Sequence[Touch], apart: frozenset[Term]) -> list[Touch]:
    """The accesses in an order that is the same for all orders with the same effect, as far as
    addresses relative to the same tell: of those that may come next, the least one does."""
    left = list(touches)
    ordered = []
    while left:
        ready = [
            touch
            for index, touch in enumerate(left)
            if all(_independent(before, touch, apart) for before in left[:index])
        ]
        least = min(ready, key=lambda touch: (touch.write, place(touch)[1], touch.size))
        left.remove(least)
        ordered.append(least)
    return ordered


@dataclass
class Memory:
    """The states of memory that two traces go through, from one state that is unknown: 0.

    `apart` are the pointers to regions that do not overlap.
    `stores` maps (state, address, size in bytes, value) to the state behind the store, `loads`
    maps (state, address, size in bytes) to the variable that is loaded.
    """

    order: Literal["little", "big"]
    bits: int
    apart: frozenset[Term] = frozenset()
    stores: dict[tuple[int, Term, int, Term], int] = field(default_factory=dict)
    loads: dict[tuple[int, Term, int], Term] = field(default_factory=dict)

    def follow(self, touches: Sequence[Touch], mapping: dict[Term, Term]) -> int:
        """Go through a trace whose terms are to be read under the mapping; the last state.

        What is loaded from a state and address from which the other trace has loaded is the same
        variable; the mapping gets that. Otherwise it is a variable of its own.
        """
        state = 0
        for touch in in_normal_order(touches, self.apart):
            address, value = substitute([touch.address, touch.value], mapping)
            if touch.write:
                key = (state, address, touch.size, value)
                state = self.stores.setdefault(key, len(self.stores) + 1)
                continue
            place_ = (state, address, touch.size)
            if place_ not in self.loads:
                taken = any(load.name == touch.value.name for load in self.loads.values())
                own = var(f"{touch.value.name}'", touch.value.width) if taken else touch.value
                self.loads[place_] = own
            mapping[touch.value] = self.loads[place_]
        return state

    @property
    def roots(self) -> list[Term]:
        """Every term of the accesses."""
        stored = [term for (_, address, _, value) in self.stores for term in (address, value)]
        return stored + [t for (_, address, _), load in self.loads.items() for t in (address, load)]

    def commands(self, names: Mapping[Term, str]) -> list[str]:
        """SMT-LIB 2.6 commands that define each state n as the array m<n> from addresses to bytes,
        and say what is loaded; `names` tells how terms are written."""
        sort = f"(Array (_ BitVec {self.bits}) (_ BitVec 8))"
        lines = [f"(declare-const m0 {sort})"]
        for (state, address, size, value), behind in self.stores.items():
            array = f"m{state}"
            for index, at in enumerate(self._bytes(names[address], size)):
                low = 8 * index
                array = f"(store {array} {at} ((_ extract {low + 7} {low}) {names[value]}))"
            lines.append(f"(define-fun m{behind} () {sort} {array})")
        for (state, address, size), load in self.loads.items():
            parts = [f"(select m{state} {at})" for at in self._bytes(names[address], size)]
            text = parts[0]
            for part in parts[1:]:
                text = f"(concat {part} {text})"
            lines.append(f"(assert (= {names[load]} {text}))")
        return lines

    def _bytes(self, address: str, size: int) -> list[str]:
        """The addresses of an access's bytes, that of the least significant one first."""
        places = [f"(bvadd {address} (_ bv{offset} {self.bits}))" for offset in range(size)]
        return places if self.order == "little" else places[::-1]
